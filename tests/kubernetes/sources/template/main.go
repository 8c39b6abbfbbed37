// template CHART [NAME=VALUE…]: what `helm template` makes of a chart, by Helm's own packages.
package main

import (
	"fmt"
	"os"
	"sort"
	"strings"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/strvals"
)

func main() {
	if err := run(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(folder string, settings []string) error {
	chart, err := loader.Load(folder)
	if err != nil {
		return err
	}
	given, err := strvals.Parse(strings.Join(settings, ","))
	if err != nil {
		return err
	}
	version := chartutil.KubeVersion{Version: "v1.36.3", Major: "1", Minor: "36"}
	if !chartutil.IsCompatibleRange(chart.Metadata.KubeVersion, version.Version) {
		return fmt.Errorf("the chart is not for %s", version.Version)
	}
	capabilities := &chartutil.Capabilities{KubeVersion: version, APIVersions: chartutil.DefaultVersionSet}
	values, err := chartutil.ToRenderValues(chart, given, chartutil.ReleaseOptions{Name: "windlass"}, capabilities)
	if err != nil {
		return err
	}
	rendered, err := engine.Render(chart, values)
	if err != nil {
		return err
	}
	names := make([]string, 0, len(rendered))
	for name := range rendered {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		fmt.Printf("---\n%s\n", rendered[name])
	}
	return nil
}
