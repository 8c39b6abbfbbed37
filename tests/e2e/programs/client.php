<?php
// client.php get URL [cafile|capath PATH] | purpose GOOD UNTRUSTED PATH|defaults…
function get(string $url, string $how = '', string $path = ''): void
{
    $options = $how === '' ? [] : ['ssl' => [$how => $path]];
    foreach ([1, 2] as $turn) {
        $body = file_get_contents($url, false, stream_context_create($options));
        if ($body === false) {
            while ($message = openssl_error_string()) {
                echo $message, "\n";
            }
            exit(1);
        }
        echo $turn, ' ', $body;
    }
}

function purpose(string $good, string $untrusted, string ...$paths): void
{
    $purposes = ['server' => X509_PURPOSE_SSL_SERVER, 'client' => X509_PURPOSE_SSL_CLIENT,
        'mail' => X509_PURPOSE_SMIME_SIGN, 'any' => X509_PURPOSE_ANY];
    foreach ($paths as $path) {
        foreach ([$good, $untrusted] as $chain) {
            foreach ([0, 1] as $turn) {
                foreach ($purposes as $name => $purpose) {
                    $sources = $path === 'defaults' ? [] : [$path];
                    $verdict = @openssl_x509_checkpurpose('file://' . $chain, $purpose, $sources, $chain);
                    echo basename($path), ' ', basename($chain), " $turn $name: ", var_export($verdict, true), "\n";
                    echo error_get_last()['message'] ?? 'no message', "\n";
                    error_clear_last();
                    while ($message = openssl_error_string()) {
                        echo '  ', $message, "\n";
                    }
                }
            }
        }
    }
}

ini_set('default_socket_timeout', '300');
$argv[1](...array_slice($argv, 2));
