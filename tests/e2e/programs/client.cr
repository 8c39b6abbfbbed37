# client URL [ca_certificates|ca_certificates_path PATH]: three GETs, each with a context of its own.
require "http/client"

url = URI.parse(ARGV[0])
begin
  3.times do
    context = OpenSSL::SSL::Context::Client.new
    case ARGV[1]?
    when "ca_certificates"      then context.ca_certificates = ARGV[2]
    when "ca_certificates_path" then context.ca_certificates_path = ARGV[2]
    end
    HTTP::Client.new(url, context) do |client|
      client.read_timeout = 300.seconds
      answer = client.get("/")
      puts "#{answer.status_code} #{answer.body.strip}"
    end
  end
rescue error : OpenSSL::Error | IO::Error
  STDERR.puts "#{error.class}: #{error.message}"
  exit 1
end
