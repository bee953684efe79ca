/* An engine object of another build. */
int transom_engine_start(const void *shared) {
    (void)shared;
    return 1;
}
