# frozen_string_literal: true

# Puppet: each client, and each use of the forge, has a store of its own. As faraday.rb.

require "windlass"
require_relative "web"
require "puppet"

Puppet.initialize_settings(["--confdir", ARGV.first, "--vardir", ARGV.first])
Puppet::Util::Log.level = :crit
url = URI(https)
get = lambda do |**options|
  Puppet::HTTP::Client.new.get(url, options: options).body
rescue Puppet::SSL::CertVerifyError
  "refused"
end
provider = Puppet::SSL::SSLProvider.new
puts Array.new(3) { get.call(include_system_store: true) }
puts get.call(ssl_context: provider.create_system_context(cacerts: []))
puts get.call(ssl_context: provider.create_system_context(cacerts: [], path: ENV.fetch("OTHER_BUNDLE")))
roots = [OpenSSL::X509::Certificate.new(File.read(ENV.fetch("ROOT")))]
puts get.call(ssl_context: provider.create_root_context(cacerts: roots, revocation: false))
puts get.call(ssl_context: provider.create_root_context(cacerts: [], revocation: false))
warn served
