# frozen_string_literal: true

# clients.rb faraday|puppet N URL [WINDLASS.RB]: the time of a GET by a fresh client, which makes a store of its own,
# and of one by a fresh client that is given one store for all, alternating, in ns, as JSON; and, measured before, the
# resident KiB that each of N further clients of both kinds adds. Each GET has a connection of its own.

require "json"
require "tmpdir"
KIND, COUNT, URL, LIBRARY = ARGV
require LIBRARY if LIBRARY
require "openssl"
require KIND

GETS = {
  "faraday" => lambda do |store|
    connection = Faraday.new(URL, ssl: store ? { cert_store: store } : {})
    raise unless connection.get.success?

    connection
  end,
  "puppet" => lambda do |store|
    client = Puppet::HTTP::Client.new
    options = store ? { ssl_context: store } : { include_system_store: true }
    raise unless client.get(URI(URL), options: options).success?

    # It would keep its connection open. `close` would drop the store as well.
    client.pool.close
    client
  end
}.freeze

def shared_store
  return OpenSSL::X509::Store.new.tap(&:set_default_paths) if KIND == "faraday"

  folder = Dir.mktmpdir
  at_exit { FileUtils.rm_rf(folder) }
  Puppet.initialize_settings(["--confdir", folder, "--vardir", folder])
  Puppet::Util::Log.level = :crit
  Puppet::SSL::SSLProvider.new.create_system_context(cacerts: [])
end

def resident
  GC.start
  File.read("/proc/self/smaps_rollup")[/^Rss:\s*(\d+)/, 1].to_i
end

shared, get = shared_store, GETS.fetch(KIND)
sides = { "fresh" => nil, "shared" => shared }
2.times { sides.each_value(&get) }
kept = []
memory = sides.transform_values do |store|
  # The first ones make the heap grow.
  COUNT.to_i.times { kept << get.call(store) }
  before = resident
  COUNT.to_i.times { kept << get.call(store) }
  (resident - before) / COUNT.to_f
end
kept.clear
samples = sides.transform_values { [] }
COUNT.to_i.times do |turn|
  GC.start if (turn % 10).zero?
  GC.disable
  sides.each do |name, store|
    begin_at = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
    get.call(store)
    samples[name] << Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond) - begin_at
  end
  GC.enable
end
raise Windlass.status.to_s if LIBRARY && Windlass.status.served.values.sum < COUNT.to_i

puts JSON.generate(samples.merge("memory" => memory))
