# frozen_string_literal: true

# A TLS handshake between two threads: does a client with this context accept the server of the test's authority?

require "openssl"
require "socket"

CHAIN = File.read(ENV.fetch("CHAIN"))

def server_context
  context = OpenSSL::SSL::SSLContext.new
  context.cert = OpenSSL::X509::Certificate.new(CHAIN)
  context.key = OpenSSL::PKey.read(CHAIN)
  context
end

# A context as Net::HTTP makes it, with this store or the default one.
def client(store = nil)
  context = OpenSSL::SSL::SSLContext.new
  context.set_params(store ? { cert_store: store } : {})
  context
end

def default_store
  store = OpenSSL::X509::Store.new
  store.set_default_paths
  store
end

def file_store(path)
  store = OpenSSL::X509::Store.new
  store.add_file(path)
  store
end

# What the client says: "accepted", or OpenSSL's message without the place in its sources.
def verdict(context, hostname = "localhost")
  near, far = UNIXSocket.pair
  server = Thread.new do
    OpenSSL::SSL::SSLSocket.new(far, server_context).accept
  rescue OpenSSL::SSL::SSLError
    # The client says why.
  ensure
    far.close
  end
  tls = OpenSSL::SSL::SSLSocket.new(near, context)
  tls.hostname = hostname
  tls.connect
  tls.post_connection_check(hostname)
  "accepted"
rescue OpenSSL::SSL::SSLError => error
  error.message
ensure
  near.close
  server.join
end

def accepts?(context, hostname = "localhost")
  said = verdict(context, hostname)
  raise said unless said == "accepted" || said =~ /certificate verify failed|does not match/

  said == "accepted"
end

# How often default stores were served.
def served
  Windlass.status.served.fetch("X509_STORE_set_default_paths", 0)
end

def check(what)
  raise "not so: #{Windlass.status}" unless what
end
