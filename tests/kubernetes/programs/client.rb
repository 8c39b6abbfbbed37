# Fetches each URL that comes on standard input. "fresh": with a store of its own for each connection, as Faraday does;
# "default": with the one store that Ruby's OpenSSL makes when it is loaded.
require "net/http"

$stdout.sync = true
$stdin.each_line do |url|
  uri = URI(url.strip)
  http = Net::HTTP.new(uri.host, uri.port)
  http.use_ssl = true
  http.cert_store = OpenSSL::X509::Store.new.tap(&:set_default_paths) if ARGV[0] == "fresh"
  puts http.get("/").code == "200" ? "accepted" : "?"
rescue OpenSSL::SSL::SSLError => e
  puts e.message.include?("certificate verify failed") ? "refused" : e.message
end
