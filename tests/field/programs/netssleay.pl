# netssleay.pl: Perl's Net::SSLeay, a module that is linked against OpenSSL and loaded by dlopen.
use strict;
use warnings;
use Net::SSLeay;

sub certificate { Net::SSLeay::PEM_read_bio_X509(Net::SSLeay::BIO_new_file($ENV{"FIELD_$_[0]"}, 'r')) }
sub verify {
    my ($title, $store, $name) = @_;
    my $untrusted = Net::SSLeay::sk_X509_new_null();
    Net::SSLeay::sk_X509_push($untrusted, certificate('INTERMEDIATE'));
    my $ctx = Net::SSLeay::X509_STORE_CTX_new();
    my $begun = Net::SSLeay::X509_STORE_CTX_init($ctx, $store, certificate($name), $untrusted);
    printf "%s %d %d %d\n", $title, $begun, Net::SSLeay::X509_verify_cert($ctx), Net::SSLeay::X509_STORE_CTX_get_error($ctx);
}

for my $turn (0, 1) {
    my $ctx = Net::SSLeay::CTX_new();
    printf "context %d\n", $turn ? Net::SSLeay::CTX_load_verify_locations($ctx, $ENV{FIELD_BUNDLE}, '')
                                 : Net::SSLeay::CTX_set_default_verify_paths($ctx);
    my $store = Net::SSLeay::CTX_get_cert_store($ctx);
    verify('good', $store, 'CHAIN');
    verify('untrusted', $store, 'UNTRUSTED');
    printf "add %d\n", Net::SSLeay::X509_STORE_add_cert($store, certificate('TWIN'));
    verify('good again', $store, 'CHAIN');
}
