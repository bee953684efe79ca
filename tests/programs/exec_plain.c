/* Tells what it inherited. */
#include <stdio.h>
#include <stdlib.h>

int main(void) {
    const char *preload = getenv("LD_PRELOAD");
    printf("preload=%s\n", preload == NULL ? "(none)" : preload);
    return 9;
}
