# Makes stores, says which library made them, and waits.
require "openssl"

ARGV[0].to_i.times { OpenSSL::X509::Store.new.set_default_paths }
puts OpenSSL::OPENSSL_LIBRARY_VERSION
$stdout.flush
$stdin.gets
