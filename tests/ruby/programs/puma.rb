# frozen_string_literal: true

# Configuration of a Puma that makes a store before it forks its workers, and one in each request.

require "windlass"
require_relative "handshake"

workers 2
threads 1, 1
preload_app!
silence_single_worker_warning if respond_to?(:silence_single_worker_warning)
quiet
log_requests false
bind "unix://#{ENV.fetch('SOCKET')}"
early = client(default_store)
app do |_|
  before = served
  good = accepts?(client(default_store)) && accepts?(early) && accepts?(client)
  bad = accepts?(client(default_store), "other.example")
  [200, {}, ["#{Windlass.attach} #{good} #{bad} #{served - before}"]]
end
