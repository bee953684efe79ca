/* The key mpi_minimum_memory_alignment: where memory begins, and what a window reports of it. */
#include "hints.h"

static int is_aligned(const void *address, unsigned long alignment) {
    return (uintptr_t)address % alignment == 0;
}

static unsigned long reported_alignment(MPI_Win window) {
    const char *value = in_use(window, "mpi_minimum_memory_alignment");
    char *rest;
    CHECK(value != NULL, "no alignment is reported");
    unsigned long alignment = strtoul(value, &rest, 10);
    CHECK(*rest == 0 && alignment > 0 && (alignment & (alignment - 1)) == 0, "mpi_minimum_memory_alignment=%.40s", value);
    return alignment;
}

/* Memory begins where the hint says, for odd sizes too, and the reported alignment is true. Of parts that touch, the first. */
static void honoured(void) {
    static const unsigned long wanted[] = {64, 128, 4096, 65536, 2 << 20};
    static const MPI_Aint sizes[] = {1, 24, 4096, 100001};
    for (size_t a = 0; a < sizeof wanted / sizeof wanted[0]; a++)
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
            char text[24];
            void *memory[2];
            snprintf(text, sizeof text, "%lu", wanted[a]);
            MPI_Info info = info_with("mpi_minimum_memory_alignment", text);
            for (int i = 0; i < 2; i++) {
                OK(MPI_Alloc_mem(sizes[s] + rank, info, &memory[i]));
                CHECK(is_aligned(memory[i], wanted[a]), "MPI_Alloc_mem to %lu gives %p", wanted[a], memory[i]);
                memset(memory[i], 1, (size_t)sizes[s] + (size_t)rank);
            }
            MPI_Win window = made(ALLOCATED, info, sizes[s] + rank, 1);
            CHECK(is_aligned(own, wanted[a]), "MPI_Win_allocate to %lu gives %p", wanted[a], own);
            CHECK(reported_alignment(window) >= wanted[a] && is_aligned(own, reported_alignment(window)), "%lu", reported_alignment(window));
            end(ALLOCATED, &window);
            window = made(SHARED, info, sizes[s] + rank, 1);
            CHECK(rank != 0 || is_aligned(own, wanted[a]), "MPI_Win_allocate_shared to %lu gives %p", wanted[a], own);
            end(SHARED, &window);
            OK(MPI_Info_set(info, "alloc_shared_noncontig", "true"));
            window = made(SHARED, info, sizes[s] + rank, 1);
            CHECK(is_aligned(own, wanted[a]), "a part apart to %lu is at %p", wanted[a], own);
            CHECK(reported_alignment(window) >= wanted[a] && is_aligned(own, reported_alignment(window)), "%lu", reported_alignment(window));
            end(SHARED, &window);
            for (int i = 0; i < 2; i++)
                OK(MPI_Free_mem(memory[i]));
            OK(MPI_Info_free(&info));
        }
}

/* The alignment that holds without a hint is true as well. */
static void without_a_hint(void) {
    MPI_Info apart = info_with("alloc_shared_noncontig", "true");
    for (MPI_Aint size = 8; size <= 1 << 20; size = 3 * size + 8) {
        MPI_Win window = made(ALLOCATED, MPI_INFO_NULL, size, 1);
        CHECK(reported_alignment(window) >= 16 && is_aligned(own, reported_alignment(window)), "%lu, %p", reported_alignment(window), own);
        end(ALLOCATED, &window);
        window = made(SHARED, apart, size, 1);
        CHECK(reported_alignment(window) >= 16 && is_aligned(own, reported_alignment(window)), "%lu, %p", reported_alignment(window), own);
        end(SHARED, &window);
    }
    OK(MPI_Info_free(&apart));
}

/* Alignments that cannot be are ignored. */
static void odd(void) {
    static const char *const values[] = {"0", "-64", "3", "63", "96", "x", "64k", "1e6", "4096.0", "0x1000", "1099511627776", "18446744073709551616",
                                      "99999999999999999999999999", "true", "-9223372036854775808", "9223372036854775808", "64 128"};
    MPI_Win plain = made(ALLOCATED, MPI_INFO_NULL, BYTES, 8);
    unsigned long usual = reported_alignment(plain);
    end(ALLOCATED, &plain);
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        void *memory;
        MPI_Info info = info_with("mpi_minimum_memory_alignment", values[i]);
        OK(MPI_Alloc_mem(100, info, &memory));
        CHECK(is_aligned(memory, 16), "%s: %p", values[i], memory);
        memset(memory, 1, 100);
        OK(MPI_Free_mem(memory));
        for (enum flavour f = 0; f < FLAVOURS; f++) {
            MPI_Win window = made(f, info, BYTES, 8);
            CHECK(is_aligned(own, 16), "%s: %p", values[i], own);
            if (f == ALLOCATED)
                CHECK(reported_alignment(window) == usual, "%s: %lu", values[i], reported_alignment(window));
            check_works(window);
            end(f, &window);
        }
        OK(MPI_Info_free(&info));
    }
}

/* Each rank asks for another alignment, and gets it. */
static void different_on_ranks(void) {
    char text[24];
    unsigned long wanted = 64ul << 4 * (rank % 3);
    snprintf(text, sizeof text, "%lu", wanted);
    MPI_Info info = info_with("mpi_minimum_memory_alignment", text);
    OK(MPI_Info_set(info, "alloc_shared_noncontig", "true"));
    for (enum flavour f = ALLOCATED; f <= SHARED; f++) {
        MPI_Win window = made(f, info, 24, 8);
        CHECK(is_aligned(own, wanted), "%lu: %p", wanted, own);
        CHECK(reported_alignment(window) >= wanted && is_aligned(own, reported_alignment(window)), "%lu", reported_alignment(window));
        check_works(window);
        end(f, &window);
    }
    OK(MPI_Info_free(&info));
}

MAIN(SCENARIO(honoured), SCENARIO(without_a_hint), SCENARIO(odd), SCENARIO(different_on_ranks))
