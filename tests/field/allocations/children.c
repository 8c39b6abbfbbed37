/*
 * PROGRAM FIRST COUNT LIBRARY: runs children of these numbers, one after the other. In each one allocations fail for a
 * while, by a plan that follows from its number. It must not die, print or trust what is bad; and when memory is back
 * it must say what a child says that was never short, and be served as that is (if WINDLASS_STATS names a page of
 * counters).
 *
 * "died" counts those that died with the library (part of whose path is LIBRARY) on the stack, or by its hand; "died in
 * stock code" those that the TLS library killed without it, or an object that is known to kill programs in stock.
 */
#include "children.h"
#include "failing.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

enum { GOOD, TRUSTS, DIFFERS, NOT_SERVED, DIED, OTHER, PRINTED, HUNG, ENDS };
static const char *const names[] = { "good", "trusts more", "other verdicts afterwards", "not served afterwards",
                                    "died", "died in stock code",
                                     "printed", "hung" };
enum { ACTS = 12, TEXT = 8192, LABELS = 1022, PAGE = 65536 };

static struct plan wanted;
/* In a library that measures its reserve: nothing fails, but all that its calls need comes from there. */
static uint64_t (*measure)(void);
static rlim_t before_limit;
static const uint64_t *page;

/* What all children share. */
static struct shared {
    char reference[TEXT];
    int has_reference, asked, refused;
    uint64_t most_calls, most_of_library, acts_total, most_of_reserve;
    char trace[TEXT];
} *shared;

int is_short(void)
{
    return wanted.how != NEVER;
}

static void limit(rlim_t bytes)
{
    struct rlimit now;

    getrlimit(RLIMIT_AS, &now);
    now.rlim_cur = bytes;
    setrlimit(RLIMIT_AS, &now);
}

static rlim_t address_space(void)
{
    char text[64] = "";
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);

    if (fd < 0 || read(fd, text, sizeof text - 1) < 1)
        _exit(90);
    close(fd);
    return strtoull(text, NULL, 10) * 4096;
}

void arm(void)
{
    if (wanted.how == LIMITED)
        limit(address_space() + wanted.number * 1024);
    else
        arm_failing(1);
}

void disarm(void)
{
    arm_failing(0);
    if (wanted.how == LIMITED)
        limit(before_limit);
}

/* By the number of the child: at random at five rates; one alone; one of the library's own alone, each in turn; all
 * from one on, or little room. */
static struct plan plan_of(uint64_t child)
{
    static const uint64_t rates[] = { 50, 150, 400, 1000, 3000 };
    struct plan plan = { NEVER, 0, mixed(child) };
    uint64_t turn = child / 4;

    switch (child % 4) {
    case 0:
        plan.how = AT_RANDOM;
        plan.number = rates[turn % 5];
        break;
    case 1:
        plan.how = ONE;
        plan.number = mixed(child) % 3000;
        break;
    case 2:
        plan.how = library_end != 0 ? ONE_OF_LIBRARY : ONE;
        plan.number = turn;
        break;
    default:
        plan.how = turn % 3 == 0 ? LIMITED : FROM;
        plan.number = plan.how == FROM ? mixed(child) % 1500 : turn * 5 % 900;
    }
    return plan;
}

struct search {
    const char *name;
    uintptr_t *start, *end;
};

/* Where the code of a loaded object is. */
static int find(struct dl_phdr_info *info, size_t length, void *data)
{
    struct search *search = data;
    int at;

    (void)length;
    if (search->name[0] == 0 || strstr(info->dlpi_name, search->name) == NULL)
        return 0;
    for (at = 0; at < info->dlpi_phnum; at++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[at];

        if (header->p_type == PT_LOAD && (header->p_flags & PF_X)) {
            *search->start = info->dlpi_addr + header->p_vaddr;
            *search->end = *search->start + header->p_memsz;
        }
    }
    return 1;
}

static void find_all(const char *library)
{
    struct search search = { library, &library_start, &library_end };
    int at;

    dl_iterate_phdr(find, &search);
    for (at = 0; at < RELIANT && reliant[at] != NULL; at++) {
        search = (struct search){ reliant[at], &reliant_start[at], &reliant_end[at] };
        dl_iterate_phdr(find, &search);
    }
}

static uint64_t counter(const char *label)
{
    int slot;

    for (slot = 0; page != NULL && slot < LABELS; slot++) {
        const uint64_t *words = page + 8 + slot * 8;

        if (words[0] == 2 && strncmp((const char *)(words + 2), label, 48) == 0)
            return words[1];
    }
    return 0;
}

static uint64_t counters_that_begin(const char *beginning)
{
    uint64_t sum = 0;
    int slot;

    for (slot = 0; page != NULL && slot < LABELS; slot++) {
        const uint64_t *words = page + 8 + slot * 8;

        if (words[0] == 2 && strncmp((const char *)(words + 2), beginning, strlen(beginning)) == 0)
            sum += words[1];
    }
    return sum;
}

/* Whether the calls of `judge` were served, as far as the page tells. */
static int is_served(uint64_t *before, const char **which)
{
    int at, base;

    for (at = 0; served[at] != NULL; at++)
        if (counter(served[at]) <= before[at]) {
            *which = served[at];
            return 0;
        }
    for (base = at, at = 0; not_served[at] != NULL; at++)
        if (counters_that_begin(not_served[at]) != before[base + at]) {
            *which = not_served[at];
            return 0;
        }
    return 1;
}

static void note(uint64_t *before)
{
    int at, base;

    for (at = 0; served[at] != NULL; at++)
        before[at] = counter(served[at]);
    for (base = at, at = 0; not_served[at] != NULL; at++)
        before[base + at] = counters_that_begin(not_served[at]);
}

static void *frames[64];

static void died(int signal, siginfo_t *info, void *context)
{
    int depth, fd = open("trace", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    void *at = (void *)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];

    (void)info;
    disarm();
    /* Where it was, should the way there not be found. */
    backtrace_symbols_fd(&at, 1, fd);
    if (pread(fd, shared->trace, TEXT - 1, 0) < 0)
        shared->trace[0] = 0;
    depth = backtrace(frames, 64);
    backtrace_symbols_fd(frames, depth, fd);
    if (pread(fd, shared->trace, TEXT - 1, 0) < 0)
        shared->trace[0] = 0;
    _exit(100 + signal % 100);
}

static void watch_for_death(void)
{
    static char stack[1 << 16];
    static const int fatal[] = { SIGSEGV, SIGABRT, SIGBUS, SIGILL, SIGFPE };
    struct sigaction action = { .sa_sigaction = died, .sa_flags = SA_ONSTACK | SA_RESETHAND | SA_SIGINFO };
    stack_t other = { .ss_sp = stack, .ss_size = sizeof stack };
    size_t at;

    sigaltstack(&other, NULL);
    for (at = 0; at < sizeof fatal / sizeof *fatal; at++)
        sigaction(fatal[at], &action, NULL);
}

/* Half of them have done everything once before. */
static int one(uint64_t child, int control)
{
    static char text[TEXT];
    uint64_t noted[64] = { 0 };
    const char *which = "";
    int number, bad = 0, refused, asked;

    watch_for_death();
    if (measure != NULL)
        measure();
    else if (!control)
        wanted = plan_of(child);
    if (child % 8 >= 4 && !control && !judge(text, TEXT))
        return DIFFERS;
    set_plan(wanted);
    if (!control) {
        arm();
        for (number = 0; number < ACTS && !bad; number++)
            /* One site after the other needs the same scene. */
            bad = wanted.how == ONE_OF_LIBRARY ? act_of_scene(number) : act(mixed(child * ACTS + number));
        disarm();
        shared->acts_total++;
        if (calls_so_far() > shared->most_calls && wanted.how != ONE_OF_LIBRARY)
            shared->most_calls = calls_so_far();
        if (calls_so_far() > shared->most_of_library && wanted.how == ONE_OF_LIBRARY)
            shared->most_of_library = calls_so_far();
        if (bad)
            return TRUSTS;
        if (measure != NULL && measure() > shared->most_of_reserve)
            shared->most_of_reserve = measure();
        refused = look_back(&asked);
        shared->refused += refused;
        shared->asked += asked;
    }
    if (measure != NULL)
        return GOOD;
    note(noted);
    if (!judge(text, TEXT)) {
        fprintf(stderr, "no answer\n");
        return DIFFERS;
    }
    if (!shared->has_reference) {
        memcpy(shared->reference, text, TEXT);
        shared->has_reference = 1;
    }
    if (strcmp(text, shared->reference) != 0) {
        fprintf(stderr, "says now\n%s", text);
        return DIFFERS;
    }
    if (page != NULL && !is_served(noted, &which)) {
        fprintf(stderr, "%s\n", which);
        return NOT_SERVED;
    }
    return GOOD;
}

/* Whether it died without the library: the library is not on the stack, or only below code that is known to do so in
 * stock. */
static int is_others_doing(const char *library)
{
    const char *ours = strstr(shared->trace, library), *found;
    int at;

    for (at = 0; fragile[at] != NULL; at++)
        if ((found = strstr(shared->trace, fragile[at])) != NULL && (ours == NULL || found < ours))
            return 1;
    return library[0] == 0 || (shared->trace[0] != 0 && ours == NULL);
}

static int finished(int status, size_t length, const char *library)
{
    if (WIFSIGNALED(status))
        return WTERMSIG(status) == SIGALRM ? HUNG : DIED;
    if (WEXITSTATUS(status) >= 100)
        return is_others_doing(library) ? OTHER : DIED;
    if (WEXITSTATUS(status) == GOOD && length > 0)
        return PRINTED;
    return WEXITSTATUS(status) < ENDS ? WEXITSTATUS(status) : DIED;
}

int main(int argc, char **argv)
{
    int ends[ENDS] = { 0 }, status, shown = 0, bad = 0, end, fd;
    const char *stats = getenv("WINDLASS_STATS");
    struct rlimit now;
    uint64_t first, count, at;

    if (argc != 4)
        return 2;
    first = strtoull(argv[1], NULL, 10), count = strtoull(argv[2], NULL, 10);
    getrlimit(RLIMIT_AS, &now);
    before_limit = now.rlim_cur;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (stats != NULL && (fd = open(stats, O_RDONLY | O_CLOEXEC)) >= 0)
        page = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);
    if (shared == MAP_FAILED || page == MAP_FAILED)
        return 2;
    backtrace(frames, 64);
    find_all(argv[3]);
    measure = (uint64_t(*)(void))dlsym(RTLD_DEFAULT, "windlass_measure_reserve");
    if (library_end == 0 && argv[3][0] != 0)
        return 2;
    warm();
    if (count == 0) /* under a debugger */
        return one(first, 0);
    for (at = 0; at <= count; at++) {
        static char output[TEXT];
        uint64_t child = first + at - 1;
        int control = at == 0, both = memfd_create("output", MFD_CLOEXEC);
        ssize_t length;
        pid_t pid;

        shared->trace[0] = 0;
        fflush(stdout);
        pid = fork();
        if (pid == 0) {
            dup2(both, 1), dup2(both, 2);
            setvbuf(stdout, NULL, _IONBF, 0);
            alarm(120);
            _exit(one(child, control));
        }
        if (pid < 0 || waitpid(pid, &status, 0) != pid)
            return 2;
        length = pread(both, output, TEXT - 1, 0);
        output[length < 0 ? 0 : length] = 0;
        close(both);
        end = finished(status, length < 0 ? 0 : length, argv[3]);
        if (control) {
            printf("%s", shared->reference);
            if (end != GOOD) {
                printf("the control: %s\n%s", names[end], output);
                return 1;
            }
            continue;
        }
        ends[end]++;
        if (end != GOOD && shown < 12) {
            struct plan plan = plan_of(child);

            shown++;
            printf("child %llu (%d, %llu), status %d: %s\n%s%s", (unsigned long long)child, plan.how,
                   (unsigned long long)plan.number,
                   status, names[end], output, shared->trace);
        }
    }
    printf("of %llu children:", (unsigned long long)count);
    for (end = 0; end < ENDS; end++) {
        if (ends[end] > 0)
            printf(" %d %s,", ends[end], names[end]);
        bad |= end != GOOD && end != OTHER && ends[end] > 0;
    }
    printf(" up to %llu allocations, and %llu of the library's; %d stores looked at afterwards, %d refuse what is "
           "good\n", (unsigned long long)shared->most_calls,
           (unsigned long long)shared->most_of_library, shared->asked, shared->refused);
    if (measure != NULL)
        printf("a call had up to %llu bytes of the reserve\n", (unsigned long long)shared->most_of_reserve);
    return bad;
}
