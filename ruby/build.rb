#!/usr/bin/env ruby
# frozen_string_literal: true

# build.rb LIBRARY FOLDER [CPU]: the gem with this libwindlass_preload.so, in FOLDER. CC compiles for CPU.

require "fileutils"
require "rbconfig"

HERE = __dir__
# Nothing is linked in, not even libc: see native.c. The same input gives the same file.
CFLAGS = %w[-std=gnu99 -Wall -Wextra -Werror -Wno-strict-prototypes -O2 -fPIC -fno-stack-protector -shared -nostdlib -s
            -Wl,-z,now -Wl,--build-id=none].freeze

library, folder = ARGV.first(2).map { |path| File.expand_path(path) }
cpu = ARGV[2] || RbConfig::CONFIG["host_cpu"]

version = File.read("#{HERE}/../Cargo.toml")[/^version = "([^"]+)"/, 1]
%w[windlass.gemspec lib/windlass.rb].each do |file|
  same = File.read("#{HERE}/#{file}").match?(/version = "#{Regexp.escape(version)}"$/i)
  abort "ruby/#{file}: the version is not #{version}, that of Cargo.toml" unless same
end

stage = File.join(File.dirname(folder), "ruby", "gem")
FileUtils.rm_rf(stage)
FileUtils.mkdir_p([stage, folder])
sources = %w[lib README.md windlass.gemspec ../LICENSE-APACHE ../LICENSE-MIT]
FileUtils.cp_r(sources.map { |name| "#{HERE}/#{name}" }, stage)
FileUtils.cp(library, "#{stage}/lib/windlass/libwindlass_preload.so")
FileUtils.rm_f(Dir["#{folder}/windlass-*.gem"])
Dir.chdir(stage) do
  system(ENV.fetch("CC", "cc"), *CFLAGS, "-o", "lib/windlass/native.so", "#{HERE}/native.c", exception: true)
  # As packagers want it, whoever builds.
  Dir["**/*"].each { |path| File.chmod(File.directory?(path) ? 0o755 : 0o644, path) }
  name = "windlass-#{version}-#{cpu}-linux-gnu.gem"
  environment = { "WINDLASS_CPU" => cpu, "SOURCE_DATE_EPOCH" => ENV.fetch("SOURCE_DATE_EPOCH", "1577836800") }
  system(environment, "gem", "build", "--silent", "-o", "#{folder}/#{name}", "windlass.gemspec", exception: true)
  puts "#{folder}/#{name}"
end
