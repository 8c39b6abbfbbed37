# frozen_string_literal: true

# Another copy of this file, from another path, may be here already.
return if defined?(Windlass::VERSION)

# Serves the OpenSSL of this process from one indexed, shared root store per CA bundle.
#
#     require "windlass"
#
# From then on, a store that loads the machine's CA bundle costs as much as an empty one. Verdicts stay those of
# OpenSSL. A change of the bundle is seen by the next store. WINDLASS_AUTO=0 leaves attaching to Windlass.attach.
module Windlass
  VERSION = "0.1.0"

  # The library, which is loaded at the first attach.
  PATH = File.join(__dir__, "windlass", "libwindlass_preload.so").freeze
  NATIVE = File.join(__dir__, "windlass", "native.so").freeze
  STATES = %w[detached attached disabled secure-execution audited].each(&:freeze).freeze
  private_constant :NATIVE, :STATES

  class << self
    # Serves stores that are made from now on. Stores that exist stay as they are.
    #
    # Never raises. Unless it returns "attached", the process is as it was before:
    #
    # - "attached": calls are seen from now on;
    # - "already": they were seen before: the library came with LD_PRELOAD, or this was called before;
    # - "disabled": the environment has WINDLASS_DISABLE=1;
    # - "secure-execution": the program runs with privileges that its user doesn't have (set-user-ID);
    # - "audited": the environment has LD_AUDIT, whose auditors decide where calls lead;
    # - "failed": the loaded objects can't be listed: in a child that was forked while other threads ran;
    # - "unavailable": the library can't be loaded here. `status.reason` says why.
    #
    # Which TLS libraries it reaches is in `status.libraries`.
    def attach
      if loaded?
        return "already" if state == "attached"
      elsif failure_to_load
        return "unavailable"
      end
      return "failed" if Native.attach(defined?(OpenSSL::SSL::SSLContext::DEFAULT_CERT_STORE) ? 1 : 0).negative?

      state == "detached" ? "failed" : state
    rescue StandardError
      "unavailable"
    end

    # Ends the serving: existing stores get the certificates that they were promised, and calls go straight to the TLS
    # libraries again.
    #
    # Returns "detached"; or "failed" if that is not possible: in a callback that runs during a verification, or in a
    # child that was forked while other threads ran.
    def detach
      loaded? && Native.detach.negative? ? "failed" : "detached"
    end

    # What Windlass sees and serves in this process, at this moment: a Windlass::Status.
    def status
      Status.now
    end

    private

    def loaded?
      UNUSABLE.nil? && Native.find(PATH) == 1
    end

    def state
      STATES.fetch(Native.state)
    end

    # Loads the library. Returns why that is not possible, or nil.
    def failure_to_load
      Native.load(PATH) unless UNUSABLE || damage(PATH)
      known_failure
    end

    # Why the library is not in this process although it was asked for, or nil.
    def known_failure
      why = UNUSABLE || damage(PATH) || Native.failure.force_encoding(Encoding::UTF_8)
      why unless why.empty?
    end

    # What is wrong with a shared object, or nil. The dynamic linker maps a file that was cut off all the same, and the
    # process dies of SIGBUS. The table of sections is the last part of the file (ELF-64: e_shoff, e_shentsize,
    # e_shnum).
    def damage(path)
      File.open(path, "rb") do |file|
        header = file.read(64).to_s
        at, size, count = header.unpack("@40Q<@58S<S<") if header.bytesize == 64
        return nil if header.start_with?("\x7FELF\x02\x01".b) && at.positive? && file.size >= at + size * count
      end
      "#{path}: damaged. Install the gem again"
    rescue SystemCallError, IOError => error
      error.message
    end

    # Loads what calls the library; why that is not possible, or nil.
    def unusable
      return "only CRuby is supported, not #{RUBY_ENGINE}" unless RUBY_ENGINE == "ruby"

      why = damage(NATIVE)
      require NATIVE unless why
      why
    rescue StandardError, LoadError => error
      error.message
    end
  end

  UNUSABLE = unusable&.dup&.freeze
  private_constant :UNUSABLE
end

begin
  # Now: a Ractor can't require it.
  require_relative "windlass/status"
rescue LoadError
  # The program runs as before; `Windlass.status` fails.
end
Windlass.attach unless ENV["WINDLASS_AUTO"] == "0"
