# frozen_string_literal: true

# says.rb RESULT [WORD ...]: attach returns RESULT, status.reason has these words, and openssl works as it did.

require "windlass"
result = Windlass.attach
status = Windlass.status
raise "#{result} #{status}" unless result == ARGV.first
raise status.to_s unless ARGV.drop(1).all? { |word| status.reason.to_s.include?(word) }
raise status.to_s unless %w[attached already].include?(result) || status.state == result

require_relative "handshake"
check accepts?(client) && accepts?(client(default_store)) && !accepts?(client, "other.example")
check Windlass.detach == "detached"
