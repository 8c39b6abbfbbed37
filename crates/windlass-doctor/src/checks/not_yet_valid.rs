//! Certificates that are not valid yet.

use crate::check::{Check, Outcome, Severity};
use crate::machine::Machine;

pub const CHECK: Check = Check {
    id: "not-yet-valid",
    title: "trusted certificates that are not valid yet",
    severity: Severity::Warning,
    explanation: "A certificate that is not valid yet is refused until its start date. If there are many, the \
                  machine's clock is wrong, and nearly every TLS connection fails.",
    run,
};

fn run(machine: &Machine<'_>, outcome: &mut Outcome) {
    let sources = machine.sources_for(outcome);
    for holding in sources.holdings() {
        let from =
            |says: &windlass_machine::places::certificate::Certificate| format!(", valid from {}", says.not_before);
        let finding = holding.finding(
            machine,
            Severity::Warning,
            "not valid yet",
            |certificate| certificate.is_not_yet_valid(machine.now),
            |certificate| certificate.label() + &certificate.says.as_ref().map(from).unwrap_or_default(),
        );
        let Some(finding) = finding else { continue };
        outcome.found(
            finding
                .reason(format!(
                    "certificates that they signed are refused until then; this machine's clock says {}",
                    machine.now
                ))
                .remedy(
                    "if the clock is wrong, set it; else wait, or remove the certificates that were added too \
                         early",
                ),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Image;

    #[test]
    fn a_certificate_of_the_future_is_found() {
        let image = Image::healthy();
        image.bundle(&["rsa.pem", "future.pem"]);
        let finding = image.finding(&CHECK);
        assert_eq!(finding.what, "1 certificate not valid yet");
        let shown = &finding.facts.shown[0];
        assert!(shown.contains("valid from 2098-01-01"), "{shown}");
    }
}
