# client.rb get URL [ca_file|ca_path|store PATH] | verify BUNDLE CHAIN… | defaults CHAIN | errors PATH…
require "net/http"
require "openssl"

def certificates(path)
  blocks = File.read(path).scan(/-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----/m)
  blocks.map { |pem| OpenSSL::X509::Certificate.new(pem) }
end

def get(url, how = nil, path = nil)
  uri = URI(url)
  options = { use_ssl: true, open_timeout: 300, read_timeout: 300 }
  case how
  when "ca_file" then options[:ca_file] = path
  when "ca_path" then options[:ca_path] = path
  when "store" then options[:cert_store] = OpenSSL::X509::Store.new.add_file(path)
  end
  2.times do
    Net::HTTP.start(uri.host, uri.port, **options) do |http|
      answer = http.get("/")
      puts "#{answer.code} #{answer.body.strip}"
    end
  end
rescue OpenSSL::SSL::SSLError => error
  abort "#{error.class}: #{error.message}"
end

def verify(bundle, *chains)
  store = OpenSSL::X509::Store.new
  store.add_file(bundle)
  (chains + chains).each do |path|
    leaf, *rest = certificates(path)
    result = store.verify(leaf, rest)
    puts "#{File.basename(path)} #{result} #{store.error} #{store.error_string} #{store.chain.length}"
    puts store.chain.map { |certificate| "  #{certificate.subject} #{certificate.serial}" }
  end
  context = OpenSSL::X509::StoreContext.new(store, *certificates(chains[0]).then { |leaf, *rest| [leaf, rest] })
  puts context.verify, context.error_depth, context.chain.last.subject
end

def defaults(path)
  leaf, *rest = certificates(path)
  3.times do
    store = OpenSSL::X509::Store.new
    store.set_default_paths
    puts "#{store.verify(leaf, rest)} #{store.error_string}"
  end
  puts OpenSSL.errors
end

def errors(*paths)
  (paths + paths).each do |path|
    OpenSSL::X509::Store.new.add_file(path)
    puts "#{File.basename(path)} added"
  rescue OpenSSL::OpenSSLError => error
    puts "#{File.basename(path)} #{error.class} #{error.message} #{OpenSSL.errors}"
  end
end

send(ARGV[0], *ARGV[1..])
