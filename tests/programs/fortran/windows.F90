#include "check.inc"

      module scenarios
      use check
      implicit none
      integer, parameter :: cells = 64
      integer(address_kind), parameter :: bytes = 8 * cells
! What operations read and write lies here: the compiler must expect any call to change it.
      integer(8) :: sent(cells), back(cells)

      interface
      subroutine check_number_in_c(number, base) bind(C)
      import :: c_int, c_ptr
      integer(c_int), value :: number
      type(c_ptr), value :: base
      end subroutine
      subroutine set_name_in_c(number, name) bind(C)
      import :: c_int, c_char
      integer(c_int), value :: number
      character(kind=c_char), intent(in) :: name(*)
      end subroutine
      subroutine check_name_in_c(number, name) bind(C)
      import :: c_int, c_char
      integer(c_int), value :: number
      character(kind=c_char), intent(in) :: name(*)
      end subroutine
      end interface

      contains

! Puts to the right, gets from the right, and what the left neighbour put; in fences. The unit is 8.
      subroutine use_window(win, own)
      WINDOW, intent(in) :: win
      integer(8), intent(inout) :: own(:)
      integer :: i
      own = -1
      do i = 1, 10
        sent(i) = 1000 * rank + i
      end do
      back = -2
      call barrier()
      call MPI_Win_fence(0, win, ierr); OK
      call MPI_Put(sent, 10, MPI_INTEGER8, right, 5_address_kind, 10, MPI_INTEGER8, win, ierr); OK
      call MPI_Win_fence(0, win, ierr); OK
      call MPI_Get(back, 12, MPI_INTEGER8, right, 4_address_kind, 12, MPI_INTEGER8, win, ierr); OK
      call MPI_Win_fence(0, win, ierr); OK
      CHECK(all(back(2:11) == sent(1:10)), 'what was put does not come back')
      CHECK(back(1) == -1 .and. back(12) == -1 .and. back(13) == -2, 'the get took more or less')
      do i = 1, 10
        CHECK(own(i + 5) == 1000 * left + i, 'cell ' // str(i) // ' does not hold what the left neighbour put')
      end do
      CHECK(own(5) == -1 .and. own(16) == -1, 'the put wrote around')
      end subroutine

      subroutine allocated()
      WINDOW :: win
      type(c_ptr) :: base
      integer(8), pointer, contiguous :: own(:)
      call MPI_Win_allocate(bytes, 8, MPI_INFO_NULL, MPI_COMM_WORLD, base, win, ierr); OK
      call c_f_pointer(base, own, [cells])
      call use_window(win, own)
      call check_number_in_c(NUMBER(win), base)
      call MPI_Win_free(win, ierr); OK
      CHECK(win == MPI_WIN_NULL, 'a freed window is ' // str(NUMBER(win)))
      call check_number_in_c(NUMBER(win), c_null_ptr)
      end subroutine

      subroutine allocated_shared()
      WINDOW :: win
      type(c_ptr) :: base, found
      integer(8), pointer, contiguous :: own(:), theirs(:)
      integer(address_kind) :: size
      integer :: unit
      call MPI_Win_allocate_shared(bytes, 8, MPI_INFO_NULL, MPI_COMM_WORLD, base, win, ierr); OK
      call c_f_pointer(base, own, [cells])
      call use_window(win, own)
      call MPI_Win_shared_query(win, rank, size, unit, found, ierr); OK
      CHECK(c_associated(found, base) .and. size == bytes .and. unit == 8, 'of ' // str(size) // ' bytes, unit ' // str(unit))
      call MPI_Win_shared_query(win, right, size, unit, found, ierr); OK
      call c_f_pointer(found, theirs, [cells])
      call MPI_Win_lock_all(MPI_MODE_NOCHECK, win, ierr); OK
      theirs(cells) = 7 + rank
      call MPI_Win_sync(win, ierr); OK
      call barrier()
      call MPI_Win_sync(win, ierr); OK
      CHECK(own(cells) == 7 + left, 'a store of the left neighbour is not seen')
      call MPI_Win_unlock_all(win, ierr); OK
      call check_number_in_c(NUMBER(win), base)
      call MPI_Win_free(win, ierr); OK
      CHECK(win == MPI_WIN_NULL, 'a freed window is ' // str(NUMBER(win)))
      end subroutine

      subroutine created()
      WINDOW :: win
      type(c_ptr) :: base
      integer(8), pointer, contiguous :: own(:)
      call MPI_Alloc_mem(bytes, MPI_INFO_NULL, base, ierr); OK
      call c_f_pointer(base, own, [cells])
      call MPI_Win_create(own, bytes, 8, MPI_INFO_NULL, MPI_COMM_WORLD, win, ierr); OK
      call use_window(win, own)
      call check_number_in_c(NUMBER(win), base)
      call MPI_Win_free(win, ierr); OK
      CHECK(win == MPI_WIN_NULL, 'a freed window is ' // str(NUMBER(win)))
      call MPI_Free_mem(own, ierr); OK
      end subroutine

! All but the last rank give nothing, which is MPI_BOTTOM and size 0.
      subroutine created_on_nothing()
      WINDOW :: win
      type(c_ptr) :: base
      integer(8), pointer, contiguous :: own(:)
      integer :: last
      last = ranks - 1
      nullify (own)
      if (rank == last) then
        call MPI_Alloc_mem(bytes, MPI_INFO_NULL, base, ierr); OK
        call c_f_pointer(base, own, [cells])
        own = 0
        call MPI_Win_create(own, bytes, 8, MPI_INFO_NULL, MPI_COMM_WORLD, win, ierr); OK
      else
        call MPI_Win_create(MPI_BOTTOM, 0_address_kind, 8, MPI_INFO_NULL, MPI_COMM_WORLD, win, ierr); OK
      end if
      sent(1) = 100 + rank
      call MPI_Win_fence(0, win, ierr); OK
      call MPI_Put(sent, 1, MPI_INTEGER8, last, int(rank, address_kind), 1, MPI_INTEGER8, win, ierr); OK
      call MPI_Win_fence(0, win, ierr); OK
      call MPI_Get(back, ranks, MPI_INTEGER8, last, 0_address_kind, ranks, MPI_INTEGER8, win, ierr); OK
      call MPI_Win_fence(0, win, ierr); OK
      CHECK(back(1) == 100 .and. back(ranks) == 100 + last, 'other values came back')
      call MPI_Win_free(win, ierr); OK
      if (rank == last) then
        call MPI_Free_mem(own, ierr); OK
      end if
      end subroutine

#ifndef MPI_F08
! Before TYPE(C_PTR) bases were integers, and Cray pointers took them.
      subroutine integer_bases()
      WINDOW :: win
      integer(address_kind) :: base, of_right, size
      integer :: unit
      integer(8) :: own(cells), theirs(cells)
      pointer (own_at, own), (their_at, theirs)
      call MPI_Win_allocate(bytes, 8, MPI_INFO_NULL, MPI_COMM_WORLD, base, win, ierr); OK
      own_at = base
      call use_window(win, own)
      call MPI_Win_free(win, ierr); OK

      call MPI_Win_allocate_shared(bytes, 8, MPI_INFO_NULL, MPI_COMM_WORLD, base, win, ierr); OK
      own_at = base
      call use_window(win, own)
      call MPI_Win_shared_query(win, right, size, unit, of_right, ierr); OK
      CHECK(size == bytes .and. unit == 8, 'of ' // str(size) // ' bytes, unit ' // str(unit))
      their_at = of_right
      CHECK(theirs(6) == 1000 * rank + 1, 'the right neighbour has other memory')
      call barrier()
      call MPI_Win_free(win, ierr); OK

      call MPI_Alloc_mem(bytes, MPI_INFO_NULL, base, ierr); OK
      own_at = base
      call MPI_Win_create(own, bytes, 8, MPI_INFO_NULL, MPI_COMM_WORLD, win, ierr); OK
      call use_window(win, own)
      call MPI_Win_free(win, ierr); OK
      call MPI_Free_mem(own, ierr); OK
      end subroutine
#endif

! Numbers of windows tell them apart, and come back from the left neighbour as they went to the right one.
      subroutine handles()
      WINDOW :: wins(3), copy
      type(c_ptr) :: bases(3)
      integer :: i
      do i = 1, 3
        call MPI_Win_allocate(bytes, 8, MPI_INFO_NULL, MPI_COMM_WORLD, bases(i), wins(i), ierr); OK
      end do
      do i = 1, 3
        copy = wins(i)
        CHECK(copy == wins(i) .and. copy /= MPI_WIN_NULL, 'window ' // str(i))
        CHECK(copy /= wins(1 + modulo(i, 3)), 'two windows are ' // str(NUMBER(copy)))
        call check_number_in_c(NUMBER(copy), bases(i))
      end do
      do i = 1, 3
        call MPI_Win_free(wins(i), ierr); OK
        CHECK(wins(i) == MPI_WIN_NULL, 'a freed window is ' // str(NUMBER(wins(i))))
      end do
      end subroutine

      subroutine groups()
      WINDOW :: win
      COMMUNICATOR :: reversed
      GROUP :: of_window, of_communicator
      type(c_ptr) :: base
      integer :: comparison
      call MPI_Comm_split(MPI_COMM_WORLD, 0, ranks - rank, reversed, ierr); OK
      call MPI_Win_allocate_shared(bytes, 8, MPI_INFO_NULL, reversed, base, win, ierr); OK
      call MPI_Comm_group(reversed, of_communicator, ierr); OK
      call MPI_Comm_free(reversed, ierr); OK
      call MPI_Win_get_group(win, of_window, ierr); OK
      call MPI_Group_compare(of_window, of_communicator, comparison, ierr); OK
      CHECK(comparison == MPI_IDENT, 'comparison gives ' // str(comparison))
      call MPI_Win_free(win, ierr); OK
      call MPI_Group_compare(of_window, of_communicator, comparison, ierr); OK
      CHECK(comparison == MPI_IDENT, 'afterwards, comparison gives ' // str(comparison))
      call MPI_Group_free(of_window, ierr); OK
      call MPI_Group_free(of_communicator, ierr); OK
      end subroutine

! Blanks behind a name do not belong to it, and it is padded with blanks where it is read.
      subroutine names()
      WINDOW :: win
      type(c_ptr) :: base
      call MPI_Win_allocate(bytes, 8, MPI_INFO_NULL, MPI_COMM_WORLD, base, win, ierr); OK
      call set_name_in_c(NUMBER(win), 'of C' // c_null_char)
      call check_name(win, 'of C')
      call MPI_Win_set_name(win, 'of Fortran   ', ierr); OK
      call check_name_in_c(NUMBER(win), 'of Fortran' // c_null_char)
      call check_name(win, 'of Fortran')
      call MPI_Win_set_name(win, '', ierr); OK
      call check_name_in_c(NUMBER(win), c_null_char)
      call check_name(win, '')
! What does not fit is cut off.
      call MPI_Win_set_name(win, repeat('long ', 100), ierr); OK
      call check_name(win, repeat('long ', 100))
      call MPI_Win_free(win, ierr); OK
      end subroutine

      subroutine check_name(win, expected)
      WINDOW, intent(in) :: win
      character(len=*), intent(in) :: expected
      character(len=MPI_MAX_OBJECT_NAME) :: name
      integer :: length, due
      name = repeat('?', len(name))
      length = -1
      call MPI_Win_get_name(win, name, length, ierr); OK
      due = len(expected)
! C's size has room for the end of the string, and some hosts give Fortran the same.
      if (due > len(name)) due = merge(length, -1, length == len(name) .or. length == len(name) - 1)
      CHECK(length == due, 'of length ' // str(length) // ': ' // trim(name))
#ifdef MPI_F08
! That of Open MPI 4.1 passes on room for one letter.
      if (openmpi) return
#endif
      CHECK(name(1:length) == expected(1:length), 'it is called ' // trim(name))
      CHECK(verify(name(length + 1:), ' ') == 0, 'what follows is not blank')
      end subroutine

      subroutine hints()
      WINDOW :: win
      INFO :: given, used
      type(c_ptr) :: base
      character(len=32) :: value
      logical :: flag
      call MPI_Info_create(given, ierr); OK
      call MPI_Info_set(given, 'alloc_shared_noncontig', 'true', ierr); OK
      call MPI_Info_set(given, 'no such hint', 'and no such value', ierr); OK
      call MPI_Win_allocate_shared(bytes, 8, given, MPI_COMM_WORLD, base, win, ierr); OK
      call MPI_Win_get_info(win, used, ierr); OK
      call MPI_Info_get(used, 'alloc_shared_noncontig', len(value), value, flag, ierr); OK
! Only Transom promises that.
      CHECK((flag .and. value == 'true') .or. .not. behind_transom, 'the hint is not there')
      call MPI_Info_free(used, ierr); OK
      call MPI_Win_set_info(win, given, ierr); OK
      call MPI_Info_free(given, ierr); OK
      call MPI_Win_get_info(win, used, ierr); OK
      CHECK(used /= MPI_INFO_NULL, 'there is no info')
      call MPI_Info_free(used, ierr); OK
      call MPI_Win_free(win, ierr); OK
      end subroutine

      subroutine run(name)
      character(len=*), intent(in) :: name
      select case (name)
      case ('allocated')
        call allocated()
      case ('allocated_shared')
        call allocated_shared()
      case ('created')
        call created()
      case ('created_on_nothing')
        call created_on_nothing()
      case ('handles')
        call handles()
      case ('groups')
        call groups()
      case ('names')
        call names()
      case ('hints')
        call hints()
#ifndef MPI_F08
      case ('integer_bases')
        call integer_bases()
#endif
      case default
        call no_such(name)
      end select
      end subroutine
      end module

      program windows
      use scenarios
      implicit none
      integer :: i
      call start()
      do i = 1, command_argument_count()
        call run(scenario(i))
      end do
      call finish()
      end program
