# frozen_string_literal: true

# Children by fork, also while threads make stores and ask for the status, and children that are started anew.

require "windlass"
require_relative "handshake"
require "rbconfig"

def child
  before = served
  check Windlass.attach == "already"
  check accepts?(client(default_store)) && !accepts?(client(default_store), "other.example") && accepts?(client)
  check served == before + 2
end

def forked
  Process.wait(fork do
    child
    exit!(0)
  rescue Exception => error # rubocop:disable Lint/RescueException
    warn error.full_message
    exit!(1)
  end)
  $?.success?
end

check forked
stop = false
threads = Array.new(3) do
  Thread.new { check(Windlass.attach == "already" && Windlass.status.state == "attached") until stop }
end
check Array.new(20) { forked }.all?
stop = true
threads.each(&:join)

# Children load the gem by RUBYOPT, as this one would have.
program = "exit(Windlass.attach == 'already' && require('openssl') && Windlass.status.served.size == 1)"
check system({ "RUBYOPT" => "-rwindlass" }, RbConfig.ruby, "-e", program)
check system({ "RUBYOPT" => "-rwindlass" }, RbConfig.ruby, "-e", "exit system(RbConfig.ruby, '-e', #{program.inspect})")
