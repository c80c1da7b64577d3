//! The only place where the parts meet: snapshots, dispatch, associations, tasks.
