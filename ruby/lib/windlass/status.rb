# frozen_string_literal: true

module Windlass
  # A TLS library in this process. `kind` is "libcrypto", "libssl" or "libgnutls". `hidden`: something in the process
  # calls it where Windlass can't see it, so it is left alone. `from_before`: it was there before Windlass was attached,
  # and something in the process may have taken addresses of its functions by then, so it is left alone.
  Library = Struct.new(:kind, :path, :hidden, :from_before)

  # The status of this process, at one moment:
  #
  # - state: "attached", "detached", "disabled", "secure-execution", "audited", "unavailable" or "not loaded";
  # - reason: why OpenSSL in this process is not served as it could be, in a sentence; nil if there is nothing to say;
  # - version: the version of the library; nil if it is not loaded;
  # - libraries: the TLS libraries that Windlass finds. One that is linked statically into another is not among them;
  # - served: how often each function was served;
  # - bypassed: how often a call was left to the TLS library, by reason (docs/counters.md);
  # - counters: all counters by name, also those of served and bypassed; those that are 0 are left out.
  Status = Struct.new(:state, :reason, :version, :libraries, :served, :bypassed, :counters)

  class Status
    REASONS = {
      "disabled" => "switched off: the environment has WINDLASS_DISABLE",
      "secure-execution" =>
        "this program runs with privileges that its user doesn't have (set-user-ID or capabilities)",
      "audited" => "the environment has LD_AUDIT: its auditors decide where calls lead",
      "detached" => "not attached: call Windlass.attach",
      "not loaded" => "not attached: call Windlass.attach"
    }.each_value(&:freeze).freeze
    private_constant :REASONS

    class << self
      def now
        return new(*absent, nil, [], {}, {}, {}) unless Windlass.send(:loaded?)

        lines = Native.status.force_encoding(Encoding::UTF_8).each_line(chomp: true)
        facts = lines.map { |line| line.partition(" ").values_at(0, 2) }
        facts = facts.group_by(&:first).transform_values { |lines| lines.map(&:last) }
        libraries = facts.fetch("library", []).map { |fact| library(fact) }
        counters = facts.fetch("counter", []).to_h { |fact| [fact[/\S+/], fact[/\d+\z/].to_i] }
        state = facts.fetch("state").first
        takers = facts.fetch("addresses", []).map { |path| path.empty? ? "this program" : unescaped(path) }
        reason = state == "attached" ? not_reached(libraries, takers) : REASONS[state]
        new(state, reason, facts.fetch("version").first, libraries, below("served/", counters),
            below("bypass/", counters), counters)
      end

      private

      # The state and the reason if the library is not in this process.
      def absent
        why = Windlass.send(:known_failure)
        return ["not loaded", REASONS["not loaded"]] unless why

        ["unavailable", "the library can't be loaded here: #{why}"]
      end

      def library(fact)
        kind, how, path = fact.split(" ", 3)
        Library.new(kind, unescaped(path), how == "hidden", how == "before")
      end

      def unescaped(path)
        path.b.gsub(/\\(\d{3})/n) { $1.oct.chr }.force_encoding(Encoding::UTF_8)
      end

      def below(prefix, counters)
        counters.select { |name, _| name.start_with?(prefix) }.transform_keys { |name| name.delete_prefix(prefix) }
      end

      def not_reached(libraries, takers)
        hidden = libraries.select(&:hidden).map(&:path)
        return "something in this process calls #{hidden.join(', ')} where Windlass can't see it" if hidden.any?

        before = libraries.select(&:from_before).map(&:path)
        if before.any?
          return "#{before.join(', ')} came before Windlass, and #{takers.join(', ')} may have taken addresses of " \
                 "functions there: require windlass before them"
        end

        own = extension
        return "#{own} has OpenSSL linked in statically" if own && libraries.none? { |one| one.kind == "libcrypto" }
        return if Native.default_store_first.zero?

        "openssl was required before Windlass attached: its DEFAULT_CERT_STORE is not served, later stores are"
      end

      # The path of Ruby's extension openssl, or nil.
      def extension
        $LOADED_FEATURES.find { |path| path.end_with?("/openssl.so") }
      rescue StandardError
        # Only the main Ractor may look.
      end
    end
  end
end
