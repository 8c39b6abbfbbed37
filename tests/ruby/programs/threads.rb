# frozen_string_literal: true

# Threads make stores and connections while another attaches and detaches: every verdict is the stock one.

require "windlass"
require_relative "handshake"

stop, made = false, Queue.new
threads = Array.new(6) do
  Thread.new do
    kept = client(default_store)
    until stop
      check accepts?(client(default_store)) && accepts?(kept) && accepts?(client)
      check !accepts?(client(file_store(ENV.fetch("OTHER_BUNDLE"))))
      check !accepts?(client(default_store), "other.example")
      made << 1
    end
  end
end
results = Hash.new(0)
while made.size < ARGV.first.to_i && threads.all?(&:alive?)
  results[Windlass.detach] += 1
  sleep 0.002
  results[Windlass.attach] += 1
  sleep 0.002
end
stop = true
threads.each(&:join)
check results.keys.sort == %w[attached detached]
