//! The `hyperclock` command.
fn main() {}
