# client.rb PORT: two GETs, each with a context of its own and the default paths.
require "openssl"
require "socket"

def context
  store = OpenSSL::X509::Store.new
  store.set_default_paths
  OpenSSL::SSL::SSLContext.new.tap { |made| made.set_params(cert_store: store, verify_mode: OpenSSL::SSL::VERIFY_PEER) }
end

2.times do
  tls = OpenSSL::SSL::SSLSocket.new(TCPSocket.new("127.0.0.1", ARGV[0].to_i), context)
  tls.hostname = "localhost"
  tls.sync_close = true
  tls.connect
  tls.write("GET / HTTP/1.0\r\n\r\n")
  puts tls.read.split("\r\n\r\n")[1]
  tls.close
end
