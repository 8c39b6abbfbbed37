/* A library whose function is on the stack while the program loads certificates. Compiled under several names, all of
 * one length. */
int NAME(int (*next)(void));

__attribute__((visibility("default"))) int NAME(int (*next)(void)) {
    volatile int result = next();
    return result;
}
