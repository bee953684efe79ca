//! Programs that make life hard for what is preloaded: no descriptors, another user. Ranks must still decide alike, and nobody alive may be
//! taken for dead.

mod common;
use common::Side;

fn no_descriptor_left_at_one_rank(on: Side) {
    on.program("odd").ranks(2).arg("no_descriptor_left_at_one_rank").passes();
}

fn another_user_at_one_rank(on: Side) {
    on.program("odd").ranks(2).arg("another_user_at_one_rank").passes();
}

fn hardly_a_descriptor_in_a_long_wait(on: Side) {
    on.program("odd").ranks(2).arg("hardly_a_descriptor_in_a_long_wait").passes();
}

fn long_waits_keep_no_descriptor(on: Side) {
    on.program("odd").ranks(2).arg("long_waits_keep_no_descriptor").passes();
}

on_hosts! {
    no_descriptor_left_at_one_rank, bare except: [mpich openmpi openmpi5 impi] "they fail at that rank alone";
    another_user_at_one_rank, bare except: [openmpi openmpi5] "they fail at that rank alone";
    hardly_a_descriptor_in_a_long_wait, bare: [] "nothing of the hosts is looked at";
    long_waits_keep_no_descriptor, bare: [] "nothing of the hosts is looked at";
}
