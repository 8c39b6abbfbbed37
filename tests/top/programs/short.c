/* A process that opens a file once and ends, with OpenSSL mapped: a command that makes one TLS context, without its
   parsing. */
#include <fcntl.h>
#include <openssl/crypto.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    char byte;
    int file = argc == 2 && OpenSSL_version_num() ? open(argv[1], O_RDONLY) : -1;
    return file < 0 || read(file, &byte, 1) != 1 || close(file);
}
