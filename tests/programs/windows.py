"""Windows from Python, on two ranks: memory of every kind that is served, operations in both kinds of epochs, attributes, names, info."""

import array

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
peer = (rank + 1) % size
COUNT = 64
BYTES = COUNT * MPI.DOUBLE.size


def doubles(value):
    return array.array("d", [value + index for index in range(COUNT)])


def moves_data(win):
    """Each rank writes to the next, and reads back; the base displacement unit is a double's size."""
    written, read = doubles(100 * rank), doubles(-1)
    win.Fence(MPI.MODE_NOPRECEDE)
    win.Put(written, peer)
    win.Fence()
    win.Get(read, peer)
    win.Fence(MPI.MODE_NOSUCCEED)
    assert read == written
    assert memoryview(win.tomemory()).cast("d").tolist() == doubles(100 * ((rank - 1) % size)).tolist()
    comm.Barrier()

    one, got = array.array("d", [3.5 + rank]), array.array("d", [0])
    win.Lock(peer, MPI.LOCK_EXCLUSIVE)
    win.Put(one, peer, 5)
    win.Flush(peer)
    win.Get(got, peer, 5)
    win.Unlock(peer)
    assert got == one
    comm.Barrier()
    win.Lock_all()
    win.Get(got, rank, 5)
    win.Flush_local_all()
    win.Unlock_all()
    assert got[0] == 3.5 + (rank - 1) % size
    comm.Barrier()


def answers(win, flavor):
    base, length, unit = win.attrs
    assert (length, unit) == (BYTES, MPI.DOUBLE.size)
    assert base == MPI.Get_address(win.tomemory())
    assert win.flavor == flavor and win.model in (MPI.WIN_UNIFIED, MPI.WIN_SEPARATE)
    group = win.Get_group()
    assert group.size == size
    group.Free()
    win.Set_name("Überlauf")
    assert win.Get_name() == "Überlauf"
    info = win.Get_info()
    assert isinstance(dict(info), dict)
    info.Free()

    deleted = []
    keyval = MPI.Win.Create_keyval(delete_fn=lambda win, keyval, value: deleted.append(value))
    value = {"rank": rank}
    win.Set_attr(keyval, value)
    assert win.Get_attr(keyval) is value
    win.Delete_attr(keyval)
    assert deleted == [value] and win.Get_attr(keyval) is None
    MPI.Win.Free_keyval(keyval)


def main():
    unit = MPI.DOUBLE.size
    memory = MPI.Alloc_mem(BYTES)
    for win, flavor in (
        (MPI.Win.Allocate(BYTES, unit, comm=comm), MPI.WIN_FLAVOR_ALLOCATE),
        (MPI.Win.Allocate_shared(BYTES, unit, comm=comm), MPI.WIN_FLAVOR_SHARED),
        (MPI.Win.Create(memory, unit, comm=comm), MPI.WIN_FLAVOR_CREATE),
    ):
        answers(win, flavor)
        moves_data(win)
        win.Free()
    MPI.Free_mem(memory)
    print(f"rank {rank}: windows work under {MPI.get_vendor()[0]}", flush=True)


main()
