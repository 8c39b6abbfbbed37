//! Variables that switch verification off.

use crate::check::{Check, Outcome, Severity};
use crate::environment;
use crate::machine::Machine;

pub const CHECK: Check = Check {
    id: "verification-off",
    title: "environment variables that switch off certificate verification",
    severity: Severity::Error,
    explanation: "\
        Some programs have a variable that makes them accept every certificate: NODE_TLS_REJECT_UNAUTHORIZED=0 \
        (Node.js), GIT_SSL_NO_VERIFY (git, with any value), PYTHONHTTPSVERIFY=0, PERL_LWP_SSL_VERIFY_HOSTNAME=0. \
        They are often set to work around a missing CA, and then stay. Anybody on the network path can then read and \
        change all that the program sends.\n\n\
        The check looks in the same places as environment-overrides.",
    run,
};

fn run(machine: &Machine<'_>, outcome: &mut Outcome) {
    for setting in environment::collect(machine, outcome).all {
        if setting.variable.switch(&setting.value) != Some(true) {
            continue;
        }
        let variable = setting.variable;
        let what = format!("{} switches off verification in {}", setting.assignment(), variable.readers);
        outcome.found(
            setting
                .finding(Severity::Error, what)
                .reason("these programs accept every certificate, even an attacker's")
                .remedy(
                    "unset it; trust the CA that it was set for instead, for one program: windlass run --add-ca \
                         FILE -- PROGRAM",
                ),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Image;

    #[test]
    fn other_values_are_silent() {
        let image = Image::healthy();
        image.write("etc/environment", "NODE_TLS_REJECT_UNAUTHORIZED=1\nPYTHONHTTPSVERIFY=\n");
        assert!(image.findings(&CHECK).is_empty());
    }

    #[test]
    fn in_a_file_for_logins_and_in_a_unit() {
        let image = Image::healthy();
        image.write("etc/profile.d/node.sh", "# for the proxy\nexport NODE_TLS_REJECT_UNAUTHORIZED=0\n");
        image.write(
            "etc/systemd/system/app.service.d/tls.conf",
            "[Service]\nEnvironment=A=b \"GIT_SSL_NO_VERIFY=true\"\n",
        );
        let findings = image.findings(&CHECK);
        let seen: Vec<_> =
            findings.iter().map(|finding| (finding.path.as_deref().unwrap().to_str().unwrap(), finding.line)).collect();
        assert_eq!(
            seen,
            [("/etc/profile.d/node.sh", Some(2)), ("/etc/systemd/system/app.service.d/tls.conf", Some(2))]
        );
    }
}
