#include "check.inc"

! Accumulates, counters, requests and general active target, each at the right neighbour.
      module scenarios
      use check
      implicit none
      integer, parameter :: count = 12, many = 500
! What operations read and write lies in modules: the compiler must expect any call to change it.
      integer :: integers(many), found(many)
      double precision :: doubles(count), doubles_found(count)
      logical :: logicals(count), logicals_found(count)
      integer :: pairs(2, count), pairs_found(2, count)
      integer(8) :: one, other, old

      contains

! A window whose first half is zero and whose other half is ones, for which everybody has waited.
      subroutine make(win, own)
      WINDOW, intent(out) :: win
      integer, pointer, contiguous, intent(out) :: own(:)
      type(c_ptr) :: base
      call MPI_Win_allocate(8192_address_kind, 4, MPI_INFO_NULL, MPI_COMM_WORLD, base, win, ierr); OK
      call c_f_pointer(base, own, [2048])
      own(1:1024) = 0
      own(1025:) = 1
      call barrier()
      end subroutine

      subroutine elements()
      WINDOW :: win
      integer, pointer, contiguous :: own(:)
      integer :: i
      call make(win, own)
      integers = [(100 * rank + i, i = 1, many)]
      doubles = [(dble(rank) + 1d0 / dble(i), i = 1, count)]
      logicals = [(modulo(i + rank, 3) == 0, i = 1, count)]
      pairs(1, :) = [(modulo(7 * i, 5) + rank, i = 1, count)]
      pairs(2, :) = rank
      call MPI_Win_lock_all(0, win, ierr); OK
! Few of them and many, twice: a sum, and what was there before.
      call MPI_Accumulate(integers, count, MPI_INTEGER, right, 0_address_kind, count, MPI_INTEGER, MPI_SUM, win, ierr); OK
      call MPI_Accumulate(integers, many, MPI_INTEGER, right, 1024_address_kind, many, MPI_INTEGER, MPI_SUM, win, ierr); OK
      call MPI_Get_accumulate(integers, count, MPI_INTEGER, found, count, MPI_INTEGER, right, 0_address_kind, count, MPI_INTEGER, MPI_SUM, win, ierr); OK
      call MPI_Win_flush(right, win, ierr); OK
      CHECK(all(found(1:count) == integers(1:count)), 'something else was there before')
      call MPI_Get_accumulate(integers, 0, MPI_INTEGER, found, many, MPI_INTEGER, right, 1024_address_kind, many, MPI_INTEGER, MPI_NO_OP, win, ierr); OK
      call MPI_Win_flush(right, win, ierr); OK
      CHECK(all(found == integers + 1), 'MPI_NO_OP finds something else')
! Types that are Fortran's own, each replaced and then combined.
      call MPI_Accumulate(doubles, count, MPI_DOUBLE_PRECISION, right, 100_address_kind, count, MPI_DOUBLE_PRECISION, MPI_REPLACE, win, ierr); OK
      call MPI_Get_accumulate(doubles, count, MPI_DOUBLE_PRECISION, doubles_found, count, MPI_DOUBLE_PRECISION, right, 100_address_kind, count, MPI_DOUBLE_PRECISION, MPI_MAX, win, ierr); OK
      call MPI_Accumulate(logicals, count, MPI_LOGICAL, right, 200_address_kind, count, MPI_LOGICAL, MPI_LOR, win, ierr); OK
      call MPI_Get_accumulate(logicals, count, MPI_LOGICAL, logicals_found, count, MPI_LOGICAL, right, 200_address_kind, count, MPI_LOGICAL, MPI_LAND, win, ierr); OK
      call MPI_Accumulate(pairs, count, MPI_2INTEGER, right, 300_address_kind, count, MPI_2INTEGER, MPI_MAXLOC, win, ierr); OK
      call MPI_Get_accumulate(pairs, count, MPI_2INTEGER, pairs_found, count, MPI_2INTEGER, right, 300_address_kind, count, MPI_2INTEGER, MPI_MINLOC, win, ierr); OK
      call MPI_Win_flush_all(win, ierr); OK
      CHECK(all(abs(doubles - doubles_found) <= 0d0), 'MPI_DOUBLE_PRECISION')
      CHECK(all(logicals .eqv. logicals_found), 'MPI_LOGICAL')
      CHECK(all(pairs_found(1, :) == pairs(1, :)), 'MPI_2INTEGER')
      call MPI_Win_unlock_all(win, ierr); OK
      call barrier()
      CHECK(all(own(1:count) == [(2 * (100 * left + i), i = 1, count)]), 'another sum of few')
      CHECK(all(own(1025:1024 + many) == [(100 * left + i + 1, i = 1, many)]), 'another sum of many')
      call MPI_Win_free(win, ierr); OK
      end subroutine

! All ranks count at rank 0, half of them by comparing.
      subroutine counters()
      WINDOW :: win
      integer, pointer, contiguous :: own(:)
      integer, parameter :: rounds = 300
      integer :: i
      call make(win, own)
      call MPI_Win_lock_all(0, win, ierr); OK
      do i = 1, rounds
        one = 1
        call MPI_Fetch_and_op(one, old, MPI_INTEGER8, 0, 0_address_kind, MPI_SUM, win, ierr); OK
        call MPI_Win_flush(0, win, ierr); OK
        do
          other = old
          one = other + 1
          call MPI_Compare_and_swap(one, other, old, MPI_INTEGER8, 0, 0_address_kind, win, ierr); OK
          call MPI_Win_flush(0, win, ierr); OK
          if (old == other) exit
        end do
      end do
      call MPI_Win_unlock_all(win, ierr); OK
      call barrier()
      CHECK(rank /= 0 .or. own(1) == 2 * rounds * ranks, 'the counter is at ' // str(own(1)))
      call MPI_Win_free(win, ierr); OK
      end subroutine

! Each ends what it began: the buffers of MPI_Rget are filled by then.
      subroutine requests()
      WINDOW :: win
      REQUEST :: pending, all_pending(3)
      integer, pointer, contiguous :: own(:)
      integer :: i
      call make(win, own)
      call MPI_Win_lock_all(0, win, ierr); OK
      do i = 1, 50
        integers = 1000 * i + rank
        found = -1
        call MPI_Rput(integers, many, MPI_INTEGER, right, 0_address_kind, many, MPI_INTEGER, win, pending, ierr); OK
        call MPI_Wait(pending, MPI_STATUS_IGNORE, ierr); OK
        integers = -2
        call MPI_Win_flush(right, win, ierr); OK
        call MPI_Rget(found, many, MPI_INTEGER, right, 0_address_kind, many, MPI_INTEGER, win, pending, ierr); OK
        call MPI_Wait(pending, MPI_STATUS_IGNORE, ierr); OK
        CHECK(all(found == 1000 * i + rank), 'round ' // str(i) // ': ' // str(found(many)))
        integers = 1
        call MPI_Raccumulate(integers, count, MPI_INTEGER, right, 600_address_kind, count, MPI_INTEGER, MPI_SUM, win, all_pending(1), ierr); OK
        call MPI_Raccumulate(integers, many, MPI_INTEGER, right, 1024_address_kind, many, MPI_INTEGER, MPI_SUM, win, all_pending(2), ierr); OK
        call MPI_Rget_accumulate(integers, count, MPI_INTEGER, found, count, MPI_INTEGER, right, 600_address_kind, count, MPI_INTEGER, MPI_SUM, win, all_pending(3), ierr); OK
        call MPI_Waitall(3, all_pending, MPI_STATUSES_IGNORE, ierr); OK
        CHECK(all(found(1:count) == 2 * i - 1), 'round ' // str(i) // ' adds to ' // str(found(1)))
      end do
      call MPI_Win_unlock_all(win, ierr); OK
      call barrier()
      CHECK(all(own(601:600 + count) == 100), 'another sum: ' // str(own(601)))
      CHECK(all(own(1025:1024 + many) == 51), 'another sum of many: ' // str(own(1025)))
      call MPI_Win_free(win, ierr); OK
      end subroutine

      subroutine posts()
      WINDOW :: win
      GROUP :: world, from, to
      integer, pointer, contiguous :: own(:)
      integer :: i
      logical :: is_done
      call make(win, own)
      call MPI_Comm_group(MPI_COMM_WORLD, world, ierr); OK
      call MPI_Group_incl(world, 1, [left], from, ierr); OK
      call MPI_Group_incl(world, 1, [right], to, ierr); OK
      do i = 1, 100
        integers = 1000 * i + rank
        call MPI_Win_post(from, 0, win, ierr); OK
        call MPI_Win_start(to, 0, win, ierr); OK
        call MPI_Put(integers, count, MPI_INTEGER, right, 0_address_kind, count, MPI_INTEGER, win, ierr); OK
        call MPI_Accumulate(integers, 1, MPI_INTEGER, right, 20_address_kind, 1, MPI_INTEGER, MPI_REPLACE, win, ierr); OK
        call MPI_Win_complete(win, ierr); OK
        if (modulo(i, 2) == 0) then
          call MPI_Win_wait(win, ierr); OK
        else
          is_done = .false.
          do while (.not. is_done)
            call MPI_Win_test(win, is_done, ierr); OK
          end do
        end if
        CHECK(all(own(1:count) == 1000 * i + left) .and. own(21) == 1000 * i + left, 'round ' // str(i) // ': ' // str(own(1)))
      end do
      call MPI_Group_free(from, ierr); OK
      call MPI_Group_free(to, ierr); OK
      call MPI_Group_free(world, ierr); OK
      call MPI_Win_free(win, ierr); OK
      end subroutine

      subroutine run(name)
      character(len=*), intent(in) :: name
      select case (name)
      case ('elements')
        call elements()
      case ('counters')
        call counters()
      case ('requests')
        call requests()
      case ('posts')
        call posts()
      case default
        call no_such(name)
      end select
      end subroutine
      end module

      program accumulates
      use scenarios
      implicit none
      integer :: i
      call start()
      do i = 1, command_argument_count()
        call run(scenario(i))
      end do
      call finish()
      end program
