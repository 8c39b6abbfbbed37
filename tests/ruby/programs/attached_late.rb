# frozen_string_literal: true

# Attaches in the middle: stores made before stay with OpenSSL, whatever is done with them; new ones are served.

require_relative "handshake"

full, later, never = default_store, OpenSSL::X509::Store.new, OpenSSL::X509::Store.new
raise unless accepts?(client(full)) && accepts?(client) && !accepts?(client(never))

require "windlass"
check Windlass.attach == "already"
check Windlass.status.reason.include?("DEFAULT_CERT_STORE")

# Made before: not served, and the verdicts of stock.
check accepts?(client(full)) && accepts?(client) && !accepts?(client(never))
later.set_default_paths
check served.zero? && Windlass.status.bypassed["unknown-store"] == 1
check accepts?(client(later))
never.add_file(ENV.fetch("OTHER_BUNDLE"))
check !accepts?(client(never)) && !accepts?(client(full), "other.example")

# Made after: served.
check accepts?(client(default_store)) && served == 1

# Detached: what was promised is there, what comes is stock.
lazy = default_store
check served == 2
check Windlass.detach == "detached" && Windlass.status.state == "detached"
check Windlass.detach == "detached"
check accepts?(client(lazy)) && accepts?(client(default_store)) && served == 2
check Windlass.attach == "attached" && Windlass.attach == "already"
check accepts?(client(default_store)) && served == 3
