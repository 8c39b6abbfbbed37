/* A process that inherited an initialised module and has the process id of the one that initialised it:
 *
 *     reused MODULE.so       as process 1 of a namespace (unshare --pid --fork); its child is process 1 of another
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <p11-kit/pkcs11.h>

int main(int argc, char **argv)
{
    void *module = argc < 2 ? NULL : dlopen(argv[1], RTLD_NOW);
    CK_RV (*list)(CK_FUNCTION_LIST **) = module == NULL ? NULL
        : (CK_RV(*)(CK_FUNCTION_LIST **))dlsym(module, "C_GetFunctionList");
    CK_FUNCTION_LIST *functions;
    CK_INFO info;
    int status;
    pid_t child, first = getpid();

    if (list == NULL || list(&functions) != CKR_OK || functions->C_Initialize(NULL) != CKR_OK
        || unshare(CLONE_NEWPID) != 0)
        return 2;
    child = fork();
    if (child == 0) {
        printf("same id %d\n", getpid() == first);
        printf("uninitialised %d\n", functions->C_GetInfo(&info) == CKR_CRYPTOKI_NOT_INITIALIZED);
        printf("initialised %d\n", functions->C_Initialize(NULL) == CKR_OK && functions->C_GetInfo(&info) == CKR_OK);
        fflush(stdout);
        _exit(0);
    }
    return waitpid(child, &status, 0) == child && status == 0 ? 0 : 3;
}
