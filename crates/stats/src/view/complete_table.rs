// SPDX-License-Identifier: GPL-2.0-only
//! A complete table from one with holes. The row or column with the largest part of holes is
//! removed first, to keep as much as possible.

/// The rows and the columns that stay; `has` says where the table has a number.
pub(crate) fn complete(
    rows: usize,
    columns: usize,
    has: impl Fn(usize, usize) -> bool,
) -> (Vec<usize>, Vec<usize>) {
    let mut rows: Vec<usize> = (0..rows).collect();
    let mut columns: Vec<usize> = (0..columns).collect();
    loop {
        let in_column = |column: usize| rows.iter().filter(|&&row| !has(row, column)).count();
        let in_row = |row: usize| columns.iter().filter(|&&column| !has(row, column)).count();
        let worst = |places: &[usize], holes: &dyn Fn(usize) -> usize| {
            let worst = places.iter().map(|&at| (holes(at), at));
            worst.max_by_key(|&(holes, at)| (holes, std::cmp::Reverse(at))).unwrap_or_default()
        };
        let (column_holes, column) = worst(&columns, &in_column);
        let (row_holes, row) = worst(&rows, &in_row);
        // As parts of the whole: holes / rows against holes / columns.
        match (column_holes * columns.len()).cmp(&(row_holes * rows.len())) {
            _ if column_holes == 0 || row_holes == 0 => return (rows, columns),
            std::cmp::Ordering::Less => rows.retain(|&other| other != row),
            _ => columns.retain(|&other| other != column),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_misses_most_goes_first() {
        // Column 2 lacks two of three, then row 0 lacks nothing.
        let has = |row: usize, column: usize| !(column == 2 && row > 0);
        assert_eq!(complete(3, 4, has), (vec![0, 1, 2], vec![0, 1, 3]));
        // Row 1 lacks three of four.
        let has = |row: usize, column: usize| !(row == 1 && column > 0);
        assert_eq!(complete(3, 4, has), (vec![0, 2], vec![0, 1, 2, 3]));
    }

    proptest! {
        #[test]
        fn nothing_that_stays_has_holes(
            holes in prop::collection::btree_set((0usize..6, 0usize..5), 0..20),
        ) {
            let (rows, columns) = complete(6, 5, |row, column| !holes.contains(&(row, column)));
            for &row in &rows {
                prop_assert!(columns.iter().all(|&column| !holes.contains(&(row, column))));
            }
            if holes.is_empty() {
                prop_assert_eq!((rows.len(), columns.len()), (6, 5));
            }
        }
    }
}
