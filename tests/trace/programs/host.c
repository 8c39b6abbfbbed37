/* host FIRST SECOND FILE: two modules, each with a libssl of its own, both twice. Linked against neither. */
#include <dlfcn.h>
#include <stdio.h>

int main(int count, char **arguments) {
    for (int round = 0; count > 3 && round < 2; round++)
        for (int i = 1; i <= 2; i++) {
            void *module = dlopen(arguments[i], RTLD_NOW | RTLD_LOCAL);
            int (*load)(const char *) = module ? (int (*)(const char *))dlsym(module, "module_load") : NULL;
            printf("%d\n", load ? load(arguments[3]) : -2);
        }
    return fflush(stdout) != 0;
}
