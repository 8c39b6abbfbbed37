# frozen_string_literal: true

# An HTTPS server of the test's authority in this process. It ends with the process.

require_relative "handshake"

def https
  plain = TCPServer.new("127.0.0.1", 0)
  server = OpenSSL::SSL::SSLServer.new(plain, server_context)
  Thread.new do
    loop do
      connection = server.accept
      nil until connection.gets.to_s.chomp.empty?
      connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
      connection.close
    rescue OpenSSL::SSL::SSLError, SystemCallError, IOError
      # The client refused.
    end
  end
  "https://localhost:#{plain.addr[1]}/"
end
