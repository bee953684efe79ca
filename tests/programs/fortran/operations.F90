#include "check.inc"

! To the right neighbour, back, and on to the other half of what the left neighbour sees: elements come through as they were sent.
#define THERE_AND_BACK(sent, back, count, type) call MPI_Put(sent, count, type, right, 0_address_kind, count, type, win, ierr); OK; call MPI_Win_flush(right, win, ierr); OK; call MPI_Get(back, count, type, right, 0_address_kind, count, type, win, ierr); OK; call MPI_Win_flush(right, win, ierr); OK

      module scenarios
      use check
      implicit none
      integer, parameter :: count = 12
! What operations read and write lies in modules: the compiler must expect any call to change it.
      integer :: integers(count), integers_back(count)
      integer(1) :: small(count), small_back(count)
      integer(2) :: short(count), short_back(count)
      integer(8) :: long(count), long_back(count)
      integer(address_kind) :: addresses(count), addresses_back(count)
      real :: reals(count), reals_back(count)
      double precision :: doubles(count), doubles_back(count)
      complex :: complexes(count), complexes_back(count)
      complex(kind(0d0)) :: double_complexes(count), double_complexes_back(count)
      logical :: logicals(count), logicals_back(count)
      character(len=count) :: text, text_back

      contains

! A window of bytes, all zero, with an epoch for all targets; and its end.
      subroutine open_window(bytes, unit, win, base)
      integer(address_kind), intent(in) :: bytes
      integer, intent(in) :: unit
      WINDOW, intent(out) :: win
      type(c_ptr), intent(out) :: base
      integer(1), pointer, contiguous :: own(:)
      call MPI_Win_allocate(bytes, unit, MPI_INFO_NULL, MPI_COMM_WORLD, base, win, ierr); OK
      call c_f_pointer(base, own, [bytes])
      own = 0
      call barrier()
      call MPI_Win_lock_all(0, win, ierr); OK
      end subroutine

      subroutine close_window(win)
      WINDOW, intent(inout) :: win
      call MPI_Win_unlock_all(win, ierr); OK
      call barrier()
      call MPI_Win_free(win, ierr); OK
      end subroutine

      subroutine types()
      WINDOW :: win
      type(c_ptr) :: base
      integer :: i
      call open_window(1024_address_kind, 1, win, base)
      do i = 1, count
        integers(i) = 1000000 * rank - i
        small(i) = int(10 * rank - i, 1)
        short(i) = int(1000 * rank - i, 2)
        long(i) = 1000000000000_8 * rank - i
        addresses(i) = long(i) + 1
        reals(i) = real(rank) - 1.0 / real(i)
        doubles(i) = dble(rank) - 1d0 / dble(i)
        complexes(i) = cmplx(reals(i), -reals(i))
        double_complexes(i) = cmplx(doubles(i), -doubles(i), kind(0d0))
        logicals(i) = modulo(i + rank, 3) == 0
        text(i:i) = achar(iachar('a') + i + rank)
      end do
      THERE_AND_BACK(integers, integers_back, count, MPI_INTEGER)
      CHECK(all(integers == integers_back), 'MPI_INTEGER')
      THERE_AND_BACK(integers, integers_back, count, MPI_INTEGER4)
      CHECK(all(integers == integers_back), 'MPI_INTEGER4')
      integers_back = 0
      THERE_AND_BACK(integers, integers_back, count / 2, MPI_2INTEGER)
      CHECK(all(integers == integers_back), 'MPI_2INTEGER')
      THERE_AND_BACK(small, small_back, count, MPI_INTEGER1)
      CHECK(all(small == small_back), 'MPI_INTEGER1')
      small_back = 0
      THERE_AND_BACK(small, small_back, count, MPI_BYTE)
      CHECK(all(small == small_back), 'MPI_BYTE')
      THERE_AND_BACK(short, short_back, count, MPI_INTEGER2)
      CHECK(all(short == short_back), 'MPI_INTEGER2')
      THERE_AND_BACK(long, long_back, count, MPI_INTEGER8)
      CHECK(all(long == long_back), 'MPI_INTEGER8')
      THERE_AND_BACK(addresses, addresses_back, count, MPI_AINT)
      CHECK(all(addresses == addresses_back), 'MPI_AINT')
      addresses_back = 0
      THERE_AND_BACK(addresses, addresses_back, count, MPI_OFFSET)
      CHECK(all(addresses == addresses_back), 'MPI_OFFSET')
      addresses_back = 0
      THERE_AND_BACK(addresses, addresses_back, count, MPI_COUNT)
      CHECK(all(addresses == addresses_back), 'MPI_COUNT')
      THERE_AND_BACK(reals, reals_back, count, MPI_REAL)
      CHECK(same(transfer(reals, small), transfer(reals_back, small)), 'MPI_REAL')
      THERE_AND_BACK(doubles, doubles_back, count, MPI_DOUBLE_PRECISION)
      CHECK(same(transfer(doubles, small), transfer(doubles_back, small)), 'MPI_DOUBLE_PRECISION')
      doubles_back = 0
      THERE_AND_BACK(doubles, doubles_back, count / 2, MPI_2DOUBLE_PRECISION)
      CHECK(same(transfer(doubles, small), transfer(doubles_back, small)), 'MPI_2DOUBLE_PRECISION')
      THERE_AND_BACK(complexes, complexes_back, count, MPI_COMPLEX)
      CHECK(same(transfer(complexes, small), transfer(complexes_back, small)), 'MPI_COMPLEX')
      THERE_AND_BACK(double_complexes, double_complexes_back, count, MPI_DOUBLE_COMPLEX)
      CHECK(same(transfer(double_complexes, small), transfer(double_complexes_back, small)), 'MPI_DOUBLE_COMPLEX')
      THERE_AND_BACK(logicals, logicals_back, count, MPI_LOGICAL)
      CHECK(all(logicals .eqv. logicals_back), 'MPI_LOGICAL')
      THERE_AND_BACK(text, text_back, count, MPI_CHARACTER)
      CHECK(text == text_back, 'MPI_CHARACTER: ' // text_back)
      call close_window(win)
      end subroutine

      function same(one, other)
      integer(1), intent(in) :: one(:), other(:)
      logical :: same
      same = size(one) == size(other) .and. all(one == other)
      end function

! Types that MPI gives for a precision or a range; like predefined ones they are never committed or freed.
      subroutine types_of_a_precision()
      WINDOW :: win
      DATATYPE :: type, row
      type(c_ptr) :: base
      integer, parameter :: wide = selected_real_kind(15, 300), deep = selected_int_kind(15)
      integer :: i
      call open_window(1024_address_kind, 1, win, base)
      do i = 1, count
        doubles(i) = dble(rank) - 1d0 / dble(i)
        double_complexes(i) = cmplx(doubles(i), 1 - doubles(i), kind(0d0))
        long(i) = 1000000000000_8 * rank - i
      end do
      CHECK(wide == kind(doubles) .and. deep == kind(long), 'this compiler has other kinds')
      call MPI_Type_create_f90_real(15, 300, type, ierr); OK
      THERE_AND_BACK(doubles, doubles_back, count, type)
      CHECK(same(transfer(doubles, small), transfer(doubles_back, small)), 'of MPI_Type_create_f90_real')
      doubles_back = 0
      do i = 1, 10
        call MPI_Type_contiguous(count, type, row, ierr); OK
        call MPI_Type_commit(row, ierr); OK
        THERE_AND_BACK(doubles, doubles_back, 1, row)
        CHECK(same(transfer(doubles, small), transfer(doubles_back, small)), 'a row of them')
        call MPI_Type_free(row, ierr); OK
      end do
      call MPI_Type_create_f90_complex(15, 300, type, ierr); OK
      THERE_AND_BACK(double_complexes, double_complexes_back, count, type)
      CHECK(same(transfer(double_complexes, small), transfer(double_complexes_back, small)), 'of MPI_Type_create_f90_complex')
      call MPI_Type_create_f90_integer(15, type, ierr); OK
      THERE_AND_BACK(long, long_back, count, type)
      CHECK(all(long == long_back), 'of MPI_Type_create_f90_integer')
      call close_window(win)
      end subroutine

! A counter at rank 0 that every rank increments under an exclusive lock.
      subroutine locks()
      WINDOW :: win
      type(c_ptr) :: base
      integer, parameter :: rounds = 200
      integer, pointer, contiguous :: own(:)
      integer :: i
      call MPI_Win_allocate(1024_address_kind, 4, MPI_INFO_NULL, MPI_COMM_WORLD, base, win, ierr); OK
      call c_f_pointer(base, own, [256])
      call MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win, ierr); OK
      own = 0
      call MPI_Win_unlock(rank, win, ierr); OK
      call barrier()
      do i = 1, rounds
        call MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win, ierr); OK
        call MPI_Get(integers, 1, MPI_INTEGER, 0, 3_address_kind, 1, MPI_INTEGER, win, ierr); OK
        call MPI_Win_flush(0, win, ierr); OK
        integers(1) = integers(1) + 1
        call MPI_Put(integers, 1, MPI_INTEGER, 0, 3_address_kind, 1, MPI_INTEGER, win, ierr); OK
        call MPI_Win_unlock(0, win, ierr); OK
      end do
      call barrier()
      call MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win, ierr); OK
      call MPI_Get(integers_back, 1, MPI_INTEGER, 0, 3_address_kind, 1, MPI_INTEGER, win, ierr); OK
      call MPI_Win_unlock(0, win, ierr); OK
      CHECK(integers_back(1) == rounds * ranks, 'the counter is at ' // str(integers_back(1)))
      call MPI_Win_free(win, ierr); OK
      end subroutine

! To all ranks and from all, completed by each form of flush in turn.
      subroutine flushes()
      WINDOW :: win
      type(c_ptr) :: base
      integer, pointer, contiguous :: own(:)
      integer :: round, i, value
      call open_window(1024_address_kind, 4, win, base)
      call c_f_pointer(base, own, [256])
      do round = 1, 5
        value = 100 * round + rank
        do i = 0, ranks - 1
          integers(i + 1) = value
          call MPI_Put(integers(i + 1), 1, MPI_INTEGER, i, int(rank, address_kind), 1, MPI_INTEGER, win, ierr); OK
        end do
        select case (round)
        case (1)
          call MPI_Win_flush_all(win, ierr); OK
        case (2)
          call MPI_Win_flush_local_all(win, ierr); OK
          integers = -1
        case (3)
          do i = 0, ranks - 1
            call MPI_Win_flush_local(i, win, ierr); OK
          end do
          integers = -1
        end select
! Whatever completed locally, this completes at the targets.
        do i = 0, ranks - 1
          call MPI_Win_flush(i, win, ierr); OK
        end do
        call barrier()
        call MPI_Win_sync(win, ierr); OK
        do i = 0, ranks - 1
          CHECK(own(i + 1) == 100 * round + i, 'round ' // str(round) // ': ' // str(own(i + 1)) // ' from rank ' // str(i))
        end do
        integers_back = -1
        call MPI_Get(integers_back, ranks, MPI_INTEGER, right, 0_address_kind, ranks, MPI_INTEGER, win, ierr); OK
        call MPI_Win_flush(right, win, ierr); OK
        CHECK(integers_back(rank + 1) == value, 'round ' // str(round) // ': ' // str(integers_back(rank + 1)) // ' comes back')
        call barrier()
      end do
      call close_window(win)
      end subroutine

! MPI_BOTTOM is an address like others where nothing is read or written.
      subroutine nothing_at_bottom()
      WINDOW :: win
      type(c_ptr) :: base
      integer, pointer, contiguous :: own(:)
      call open_window(1024_address_kind, 4, win, base)
      call c_f_pointer(base, own, [256])
      call MPI_Put(MPI_BOTTOM, 0, MPI_INTEGER, right, 0_address_kind, 0, MPI_INTEGER, win, ierr); OK
      call MPI_Get(MPI_BOTTOM, 0, MPI_INTEGER, right, 0_address_kind, 0, MPI_INTEGER, win, ierr); OK
      call MPI_Put(MPI_BOTTOM, 0, MPI_INTEGER, MPI_PROC_NULL, 0_address_kind, 0, MPI_INTEGER, win, ierr); OK
      call MPI_Win_flush_all(win, ierr); OK
      call barrier()
      CHECK(all(own == 0), 'something was written')
      call close_window(win)
      end subroutine

! From MPI_BOTTOM with a type that holds the address: one block, somewhere.
      subroutine absolute_addresses()
      WINDOW :: win
      DATATYPE :: type
      type(c_ptr) :: base
      integer, pointer, contiguous :: own(:)
      integer(address_kind) :: at(1)
      integer :: i
      call open_window(1024_address_kind, 4, win, base)
      call c_f_pointer(base, own, [256])
      integers = [(100 * rank + i, i = 1, count)]
      call MPI_Get_address(integers, at(1), ierr); OK
      call MPI_Type_create_hindexed(1, [count], at, MPI_INTEGER, type, ierr); OK
      call MPI_Type_commit(type, ierr); OK
      call MPI_Put(MPI_BOTTOM, 1, type, right, 7_address_kind, count, MPI_INTEGER, win, ierr); OK
      call MPI_Win_flush(right, win, ierr); OK
      call barrier()
      CHECK(all(own(8:7 + count) == [(100 * left + i, i = 1, count)]), 'other values arrived')
      call MPI_Type_free(type, ierr); OK
      call close_window(win)
      end subroutine

! A part of an array, and every second element where MPI takes those: elsewhere the compiler's copy would be gone before it is read.
      subroutine sections()
      WINDOW :: win
      type(c_ptr) :: base
      integer, pointer, contiguous :: own(:)
      integer :: i
      call open_window(1024_address_kind, 4, win, base)
      call c_f_pointer(base, own, [256])
      integers = [(100 * rank + i, i = 1, count)]
      call MPI_Put(integers(4:9), 6, MPI_INTEGER, right, 1_address_kind, 6, MPI_INTEGER, win, ierr); OK
      call MPI_Win_flush(right, win, ierr); OK
      call barrier()
      CHECK(all(own(1:8) == [0, (100 * left + i, i = 4, 9), 0]), 'other values arrived')
      if (MPI_SUBARRAYS_SUPPORTED) then
        call MPI_Put(integers(1:count:2), count / 2, MPI_INTEGER, right, 9_address_kind, count / 2, MPI_INTEGER, win, ierr); OK
        call MPI_Win_flush(right, win, ierr); OK
        call barrier()
        CHECK(all(own(9:16) == [0, (100 * left + i, i = 1, count, 2), 0]), 'other values arrived')
      end if
      call close_window(win)
      end subroutine

! At the far end of a window of 8,488,608,000 bytes, in bytes and in larger units.
      subroutine far_away()
      WINDOW :: win
      type(c_ptr) :: base
      integer(address_kind), parameter :: bytes = 8488608000_address_kind
      integer(address_kind) :: size, at
      integer(8), pointer, contiguous :: own(:)
      integer :: unit, trial
      logical :: flag
      do trial = 1, 2
        unit = merge(1, 1000, trial == 1)
        call MPI_Win_allocate(bytes, unit, MPI_INFO_NULL, MPI_COMM_WORLD, base, win, ierr); OK
        call MPI_Win_get_attr(win, MPI_WIN_SIZE, size, flag, ierr); OK
        CHECK(flag .and. size == bytes, 'it has ' // str(size) // ' bytes')
        call c_f_pointer(base, own, [bytes / 8])
        long = [9000000000_8 + rank, -9000000000_8 - rank, (0_8, at = 3, count)]
        at = (bytes - 1000) / unit
        call MPI_Win_fence(0, win, ierr); OK
        call MPI_Put(long, 2, MPI_INTEGER8, right, at, 2, MPI_INTEGER8, win, ierr); OK
        call MPI_Win_fence(0, win, ierr); OK
        call MPI_Get(long_back, 2, MPI_INTEGER8, right, at, 2, MPI_INTEGER8, win, ierr); OK
        call MPI_Win_fence(0, win, ierr); OK
        CHECK(all(long(1:2) == long_back(1:2)), 'other values come back')
        CHECK(own(bytes / 8 - 124) == 9000000000_8 + left, 'another value arrived: ' // str(own(bytes / 8 - 124)))
! Hosts may refuse this for other flavours than shared.
        if (behind_transom) then
          call MPI_Win_shared_query(win, right, size, unit, base, ierr); OK
          CHECK(size == bytes, 'the neighbour has ' // str(size) // ' bytes')
        end if
        call MPI_Win_free(win, ierr); OK
      end do
      end subroutine

      subroutine run(name)
      character(len=*), intent(in) :: name
      select case (name)
      case ('types')
        call types()
      case ('types_of_a_precision')
        call types_of_a_precision()
      case ('locks')
        call locks()
      case ('flushes')
        call flushes()
      case ('nothing_at_bottom')
        call nothing_at_bottom()
      case ('absolute_addresses')
        call absolute_addresses()
      case ('sections')
        call sections()
      case ('far_away')
        call far_away()
      case default
        call no_such(name)
      end select
      end subroutine
      end module

      program operations
      use scenarios
      implicit none
      integer :: i
      call start()
      do i = 1, command_argument_count()
        call run(scenario(i))
      end do
      call finish()
      end program
