# frozen_string_literal: true

# Built by build.rb, in a folder that also holds the two libraries and the licences. WINDLASS_CPU is what they are for.
Gem::Specification.new do |spec|
  spec.name = "windlass"
  spec.version = "0.1.0"
  # Older RubyGems drop the "gnu" of a platform that is given as a string.
  spec.platform = Gem::Platform.new([ENV.fetch("WINDLASS_CPU"), "linux", "gnu"])
  spec.summary = "A TLS context that no longer parses the whole CA bundle: serves OpenSSL from one shared root store"
  spec.description = "require \"windlass\", and OpenSSL in this process reads each CA bundle once, for all contexts."
  spec.authors = ["The Windlass authors"]
  spec.licenses = ["MIT", "Apache-2.0"]
  spec.required_ruby_version = ">= 2.7"
  spec.files = Dir["lib/**/*"].select { |path| File.file?(path) }.sort + %w[LICENSE-APACHE LICENSE-MIT README.md]
end
