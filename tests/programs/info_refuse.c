/* info_refuse errno|kill NAME... -- COMMAND...: runs a command whose system calls of these names are refused by a seccomp filter, or end
 * the process that makes them. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct {
    const char *name;
    int number;
} CALLS[] = {
    {"memfd_create", SYS_memfd_create},         {"userfaultfd", SYS_userfaultfd},
    {"io_uring_setup", SYS_io_uring_setup},     {"process_vm_readv", SYS_process_vm_readv},
    {"process_vm_writev", SYS_process_vm_writev}, {"pidfd_open", SYS_pidfd_open},
};

int main(int count, char **words) {
    struct sock_filter filter[2 * sizeof CALLS / sizeof CALLS[0] + 2];
    unsigned short length = 0;
    unsigned action = SECCOMP_RET_ERRNO | EPERM;
    filter[length++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    int word = 1;
    if (count > 1 && strcmp(words[word++], "kill") == 0)
        action = SECCOMP_RET_KILL_PROCESS;
    for (; word < count && strcmp(words[word], "--") != 0; word++) {
        int number = -1;
        for (size_t call = 0; call < sizeof CALLS / sizeof CALLS[0]; call++)
            if (strcmp(words[word], CALLS[call].name) == 0)
                number = CALLS[call].number;
        if (number < 0 || length + 3 > (int)(sizeof filter / sizeof filter[0])) {
            fprintf(stderr, "info_refuse: %s?\n", words[word]);
            return 2;
        }
        filter[length++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number, 0, 1);
        filter[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action);
    }
    filter[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {length, filter};
    if (word + 1 >= count || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
        perror("info_refuse");
        return 2;
    }
    execvp(words[word + 1], words + word + 1);
    perror(words[word + 1]);
    return 2;
}
