# tls.tcl CAFILE PORT…: Tcl's TLS.
package require tls
foreach port [lrange $argv 1 end] {
    for {set turn 0} {$turn < 2} {incr turn} {
        if {[catch {
            set channel [tls::socket -cafile [lindex $argv 0] -require 1 -servername localhost localhost $port]
            tls::handshake $channel
            puts $channel "GET / HTTP/1.0\n"
            flush $channel
            gets $channel line
            puts "$line"
            close $channel
        } message]} { puts "refused: $message" }
    }
}
