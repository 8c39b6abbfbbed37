//! The container of a process, by the names that container runtimes give to control groups.
//!
//! Kubelet names a pod's group `kubepods-QOS-podUID.slice` with the systemd driver, and `kubepods/QOS/podUID` with the
//! cgroupfs driver (pkg/kubelet/cm: pod_container_manager_linux.go, cgroup_manager_linux.go). systemd separates slices
//! by hyphens, so those of a UID become underscores. Below it is the container: `cri-containerd-ID.scope`
//! (containerd), `crio-ID.scope` (CRI-O), `docker-ID.scope`, `libpod-ID.scope` (Podman), or `ID` with cgroupfs.

use super::proc_files;

/// How much is read of `/proc/PID/cgroup`: one line for each hierarchy, of which cgroups(7) knows fourteen.
const LIMIT: u64 = 64 << 10;

/// The container in which a process runs; all fields are empty outside of containers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Container {
    /// The UID of its pod, as Kubernetes writes it. A static pod has the hash of its configuration.
    pub pod: Option<String>,
    /// The id that the runtime has given to it.
    pub id: Option<String>,
    /// Whether it is below systemd's `user.slice`, where users name the groups.
    pub is_of_user: bool,
}

impl Container {
    /// The container of a running process.
    pub fn of(pid: u32) -> Container {
        let bytes = proc_files::read(pid, "cgroup", LIMIT).unwrap_or_default();
        Container::parse(&String::from_utf8_lossy(&bytes))
    }

    /// Whether the process is in a pod or a container.
    pub fn is_some(&self) -> bool {
        self.pod.is_some() || self.id.is_some()
    }

    /// Lines of cgroups(7): `number:controllers:path`, number 0 for version 2. On a hybrid system only one of the
    /// hierarchies may name the container.
    fn parse(text: &str) -> Container {
        let paths = text.lines().filter_map(|line| line.splitn(3, ':').nth(2));
        let all = paths.map(Container::of_path);
        all.max_by_key(|container| (container.pod.is_some(), container.id.is_some())).unwrap_or_default()
    }

    fn of_path(path: &str) -> Container {
        let path = path.strip_suffix(" (deleted)").unwrap_or(path);
        // containerd with the cgroupfs driver below a kubelet with systemd's: `…-podUID.slice:cri-containerd:ID`.
        let names: Vec<&str> = path.split(['/', ':']).collect();
        let is_of_user = names.contains(&"user.slice");
        // The outermost: what is further in was named by the container.
        let pod = names.iter().enumerate().find_map(|(place, name)| Some((place, pod(name)?)));
        let pod = pod.filter(|_| !is_of_user);
        let below = pod.as_ref().map_or(0, |(place, _)| place + 1);
        let id = names[below..].iter().find_map(|name| container(name));
        let is_of_user = is_of_user && id.is_some();
        Container { pod: pod.map(|(_, pod)| pod), id: id.map(str::to_owned), is_of_user }
    }
}

/// The UID in the name of a pod's group. A prefix such as `kubelet-kubepods` is kubelet's option `--cgroup-root`.
fn pod(name: &str) -> Option<String> {
    let uid = match name.strip_suffix(".slice") {
        Some(slice) => {
            let (parents, own) = slice.rsplit_once('-')?;
            let uid = own.strip_prefix("pod").filter(|_| parents.contains("kubepods"))?;
            uid.replace('_', "-")
        }
        None => name.strip_prefix("pod")?.to_owned(),
    };
    let groups: Vec<usize> = uid.split('-').map(str::len).collect();
    let is_uid = groups == [8, 4, 4, 4, 12] || groups == [32];
    (is_uid && is_hexadecimal(&uid.replace('-', ""))).then_some(uid)
}

/// The container's id in the name of its group. conmon watches a container from outside.
fn container(name: &str) -> Option<&str> {
    let name = name.strip_suffix(".scope").unwrap_or(name);
    let (runtime, id) = name.rsplit_once('-').unwrap_or(("", name));
    (id.len() == 64 && is_hexadecimal(id) && !runtime.ends_with("conmon")).then_some(id)
}

fn is_hexadecimal(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "afc6fe0403eff2f2fb82ef4bd5434854a2dc180d4a53c375a307ac9530cbc67d";
    const OTHER: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    const UID: &str = "a6537f3e-228a-4833-91d0-d5889163f4e2";

    fn parts(text: &str) -> (String, String) {
        let text = text.replace("UID", UID).replace("UNDER", &UID.replace('-', "_"));
        let found = Container::parse(&text.replace("ID", ID).replace("OTHER", OTHER));
        (found.pod.unwrap_or_default(), found.id.unwrap_or_default())
    }

    #[test]
    fn pods_of_both_drivers() {
        let both = (UID.to_owned(), ID.to_owned());
        for path in [
            "0::/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-podUNDER.slice/cri-containerd-ID.scope",
            "0::/kubepods.slice/kubepods-podUNDER.slice/crio-ID.scope/container",
            "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podUNDER.slice/docker-ID.scope/init.scope",
            "0::/kubepods/burstable/podUID/ID",
            "0::/kubepods/podUID/crio-ID",
            "4:memory:/kubepods/besteffort/podUID/ID\n0::/",
            "0::/\n11:cpu,cpuacct:/kubepods.slice/kubepods-podUNDER.slice/docker-ID.scope",
            // Version 1, where not every hierarchy has a group for containers.
            "12:rdma:/\n3:pids:/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podUNDER.slice/\
             cri-containerd-ID.scope\n1:name=systemd:/kubepods.slice/kubepods-burstable.slice/\
             kubepods-burstable-podUNDER.slice/cri-containerd-ID.scope\n0::/system.slice/containerd.service",
            "5:memory:/kubepods.slice/kubepods-podUNDER.slice/crio-ID.scope\n1:name=systemd:/kubepods.slice/\
             kubepods-podUNDER.slice/crio-ID.scope",
            "2:cpu,cpuacct:/kubepods/burstable/podUID/crio-ID\n1:name=systemd:/kubepods/burstable/podUID/crio-ID",
            "0::/kubepods-burstable-podUNDER.slice:cri-containerd:ID",
            "4:memory:/system.slice/containerd.service/kubepods-besteffort-podUNDER.slice:cri-containerd:ID",
            // kind: kubelet in a container.
            "0::/docker/OTHER/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-podUNDER.slice/\
             cri-containerd-ID.scope",
            // From another cgroup namespace (cgroup_namespaces(7)).
            "0::/../../kubepods-besteffort-podUNDER.slice/cri-containerd-ID.scope",
            "0::/../podUID/ID (deleted)",
            // A container that makes groups of its own can't give itself another name.
            "0::/kubepods/podUID/ID/kubepods/pod00000000-0000-0000-0000-000000000000/OTHER",
        ] {
            assert_eq!(parts(path), both, "{path}");
        }
        let hash = "fa1b2c3d4e5f60718293a4b5c6d7e8f9";
        let path = format!("0::/kubepods.slice/kubepods-pod{hash}.slice/cri-containerd-ID.scope");
        assert_eq!(parts(&path), (hash.to_owned(), ID.to_owned()));
    }

    #[test]
    fn a_pod_without_a_container() {
        // CRI-O's conmon watches from a group beside the containers.
        let path = "0::/kubepods.slice/kubepods-podUNDER.slice/crio-conmon-ID.scope";
        assert_eq!(parts(path), (UID.to_owned(), String::new()));
    }

    #[test]
    fn containers_without_a_pod() {
        let only = (String::new(), ID.to_owned());
        for path in [
            "0::/docker/ID",
            "0::/system.slice/docker-ID.scope",
            "0::/machine.slice/libpod-ID.scope/container",
            "0::/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-ID.scope",
            // A user can make a group of any name; a pod is not there.
            "0::/user.slice/user-1000.slice/kubepods-podUNDER.slice/cri-containerd-ID.scope",
        ] {
            assert_eq!(parts(path), only, "{path}");
        }
        assert!(Container::parse(&format!("0::/user.slice/libpod-{ID}.scope")).is_of_user);
    }

    #[test]
    fn what_is_no_container() {
        for path in [
            "",
            "0::/",
            "0::/system.slice/ssh.service",
            "0::/user.slice/user-0.slice/session-1.scope",
            "0::/machine.slice/libpod-conmon-ID.scope",
            "0::/system.slice/crio-conmon-ID.scope",
            "0::/podium/x",
            "0::/kubepods.slice/kubepods-pod1234.slice",
            "0::/system.slice/afc6fe0403ef",
            "nonsense",
        ] {
            assert_eq!(parts(path), (String::new(), String::new()), "{path}");
        }
        assert!(!Container::parse("0::/user.slice/user-0.slice/session-1.scope").is_some());
    }
}
