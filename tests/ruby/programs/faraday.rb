# frozen_string_literal: true

# Faraday: each connection has a store of its own. Prints what each request says, and how often the library served.

require "windlass"
require_relative "web"
require "faraday"

url = https
answer = lambda do |**ssl|
  Faraday.new(url, ssl: ssl).get.body
rescue Faraday::SSLError
  "refused"
end
puts Array.new(3) { answer.call }
puts answer.call(ca_file: ENV.fetch("OTHER_BUNDLE")), answer.call(cert_store: file_store(ENV.fetch("OTHER_BUNDLE")))
puts answer.call(verify: false), answer.call(cert_store: file_store(ENV.fetch("BUNDLE")))
warn served
