//! Sets of ports, written `53,443,1000-2000`.

use std::fmt;

/// Sorted, merged, inclusive ranges of ports. The empty set holds no port.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct PortSet(Vec<(u16, u16)>);

/// Why a text is no set of ports.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadPorts {
    /// An item that is neither `n` nor `a-b` with numbers up to 65535.
    #[error("`{0}` is not a port or a range of ports")]
    Item(String),
    /// A range that ends before it starts.
    #[error("the range `{0}` ends before it starts, so it can never match")]
    Reversed(String),
}

impl PortSet {
    /// A set of one port.
    #[must_use]
    pub fn one(port: u16) -> Self {
        Self(vec![(port, port)])
    }

    /// A set of inclusive ranges; reversed ones hold nothing.
    #[must_use]
    pub fn of(ranges: impl IntoIterator<Item = (u16, u16)>) -> Self {
        let mut ranges: Vec<_> = ranges.into_iter().filter(|(a, b)| a <= b).collect();
        ranges.sort_unstable();
        let mut merged: Vec<(u16, u16)> = Vec::with_capacity(ranges.len());
        for (a, b) in ranges {
            match merged.last_mut() {
                Some(last) if u32::from(a) <= u32::from(last.1) + 1 => last.1 = last.1.max(b),
                _ => merged.push((a, b)),
            }
        }
        Self(merged)
    }

    /// Reads comma-separated items `n` or `a-b`; blanks around items and empty items are skipped.
    ///
    /// # Errors
    /// [`BadPorts`] names the item.
    pub fn parse(text: &str) -> Result<Self, BadPorts> {
        let mut ranges = Vec::new();
        for item in text.split(',').map(str::trim).filter(|item| !item.is_empty()) {
            ranges.push(Self::item(item)?);
        }
        Ok(Self::of(ranges))
    }

    /// Reads one item, `n` or `a-b`.
    ///
    /// # Errors
    /// [`BadPorts`] names the item.
    pub fn item(item: &str) -> Result<(u16, u16), BadPorts> {
        let bad = || BadPorts::Item(item.to_owned());
        let number = |text: &str| text.trim().parse::<u16>().map_err(|_| bad());
        let (a, b) = match item.split_once('-') {
            Some((a, b)) => (number(a)?, number(b)?),
            None => (number(item)?, number(item)?),
        };
        if a > b { Err(BadPorts::Reversed(item.to_owned())) } else { Ok((a, b)) }
    }

    /// Whether the port is in the set.
    #[must_use]
    pub fn contains(&self, port: u16) -> bool {
        let at = self.0.partition_point(|range| range.1 < port);
        self.0.get(at).is_some_and(|range| range.0 <= port)
    }

    /// Whether no port is in the set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The ranges, sorted and merged, both ends included.
    #[must_use]
    pub fn ranges(&self) -> &[(u16, u16)] {
        &self.0
    }

    /// Every port, in order.
    pub fn iter(&self) -> impl Iterator<Item = u16> + '_ {
        self.0.iter().flat_map(|&(a, b)| a..=b)
    }

    /// How many ports are in the set.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.iter().map(|&(a, b)| usize::from(b) - usize::from(a) + 1).sum()
    }
}

impl fmt::Display for PortSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, (a, b)) in self.0.iter().enumerate() {
            let comma = if n == 0 { "" } else { "," };
            if a == b { write!(f, "{comma}{a}")? } else { write!(f, "{comma}{a}-{b}")? }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_merge_and_print_sorted() {
        let set = PortSet::parse("443, 53 ,1000-2000,1500-2500,2501").unwrap_or_default();
        assert_eq!(set.to_string(), "53,443,1000-2501");
        assert!(set.contains(1000) && set.contains(2501) && !set.contains(2502) && !set.contains(54));
        assert_eq!(set.len(), 2 + 1502);
    }

    #[test]
    fn bad_items_are_named() {
        assert_eq!(PortSet::parse("80,x"), Err(BadPorts::Item("x".into())));
        assert_eq!(PortSet::parse("70000"), Err(BadPorts::Item("70000".into())));
        assert_eq!(PortSet::parse("9-8"), Err(BadPorts::Reversed("9-8".into())));
        assert_eq!(PortSet::parse(""), Ok(PortSet::default()));
    }
}
