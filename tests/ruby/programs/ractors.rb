# frozen_string_literal: true

# Stores that are made in Ractors are served as well, and a Ractor can attach and ask.

require "windlass"
require "openssl"

answers = Array.new(3) do
  Ractor.new do
    begin
      OpenSSL::X509::Store.new.set_default_paths
      served = true
    rescue Ractor::UnsafeError
      # An openssl that is not made for Ractors.
      served = false
    end
    [served, Windlass.attach, Windlass.status.state, Windlass.status.libraries.empty?]
  end
end
answers = answers.map { |one| one.respond_to?(:value) ? one.value : one.take }
stores = answers.count(&:first)
raise answers.inspect unless answers.all? { |one| one.drop(1) == ["already", "attached", false] }
raise Windlass.status.to_s unless Windlass.status.served["X509_STORE_set_default_paths"] == stores + 1

print stores
