//! Printing the IR.
