# frozen_string_literal: true

# Attaches before openssl is required: contexts are served and reach the stock verdicts.

features = $LOADED_FEATURES.dup
require "windlass"
added = ($LOADED_FEATURES - features).map { |path| File.basename(path) }
raise "required: #{added}" if (added & %w[openssl.so openssl.rb fiddle.so socket.so]).any?

require_relative "handshake"
check Windlass.attach == "already"
# Ruby's own default store.
check served == 1
check accepts?(client)
check !accepts?(client, "other.example")
check accepts?(client(default_store)) && served == 2
check !accepts?(client(file_store(ENV.fetch("OTHER_BUNDLE"))))
check accepts?(client(file_store(ENV.fetch("BUNDLE"))))
status = Windlass.status
check status.state == "attached" && status.reason.nil? && status.version == Windlass::VERSION
check (%w[libcrypto libssl] - status.libraries.map(&:kind)).empty?
check status.libraries.none?(&:hidden) && status.libraries.all? { |one| File.exist?(one.path) }
check status.bypassed.empty? && status.served["X509_STORE_load_file"].to_i + status.served.values.sum > 3
