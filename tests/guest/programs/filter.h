/* Installs a system call filter: `action` is what happens to the calls in `names` ("deny"), or to all others
 * ("allow"). */
#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>

static volatile sig_atomic_t trapped, first_trapped;

static void on_trap(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)context;
    if (!trapped++)
        first_trapped = info->si_syscall;
}

static uint32_t action_of(const char *name)
{
    if (!strcmp(name, "kill"))
        return SCMP_ACT_KILL_PROCESS;
    if (!strcmp(name, "trap"))
        return SCMP_ACT_TRAP;
    if (!strcmp(name, "eperm"))
        return SCMP_ACT_ERRNO(EPERM);
    if (!strcmp(name, "eacces"))
        return SCMP_ACT_ERRNO(EACCES);
    if (!strcmp(name, "enosys"))
        return SCMP_ACT_ERRNO(ENOSYS);
    abort();
}

/* deny|allow|writing, kill|trap|eperm|enosys, names */
static void install(char **words)
{
    int deny = strcmp(words[0], "allow") != 0;
    uint32_t action = action_of(words[1]), of_names = deny ? action : SCMP_ACT_ALLOW;
    struct sigaction handler = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };
    sigaction(SIGSYS, &handler, NULL);
    scmp_filter_ctx filter = seccomp_init(deny ? SCMP_ACT_ALLOW : action);
    for (char **name = words + 2; *name; name++) {
        int number = seccomp_syscall_resolve_name(*name);
        if (number == __NR_SCMP_ERROR)
            abort();
        /* What opens for anything but reading. */
        if (!strcmp(words[0], "writing")) {
            int unwanted[] = { O_WRONLY, O_RDWR, O_CREAT, O_TRUNC, O_APPEND };
            for (size_t n = 0; n < sizeof unwanted / sizeof *unwanted; n++)
                if (seccomp_rule_add(filter, of_names, number, 1,
                                     SCMP_A2(SCMP_CMP_MASKED_EQ, unwanted[n], unwanted[n])))
                    abort();
        } else if (seccomp_rule_add(filter, of_names, number, 0)) {
            abort();
        }
    }
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || seccomp_load(filter))
        abort();
    /* The filter's own memory is given back by calls that nothing is known of. */
}
