//! `pin`, `unpin`, `fence`, `unfence` and `test`.

use std::collections::BTreeMap;
use std::time::Duration;

use indicatif::ProgressBar;

use super::args::{Fence, Pin, Reach, Test, Unpin};
use super::reach::{Ended, block_on, fault, unexpected};
use super::table::{self, Colour, Detail};
use super::units;
use crate::balance::Report;
use crate::cli::exit::Exit;
use crate::cli::say;
use crate::control::{Ask, Client, OrderAsk, Say};

/// `pin`.
pub fn pin(args: Pin) -> Exit {
    let for_ms = args.lasts.map(|lasts| u64::try_from(lasts.as_millis()).unwrap_or(u64::MAX));
    follow(args.reach, args.balancer, OrderAsk::Pin { member: args.member, for_ms, strict: args.strict })
}

/// `unpin`.
pub fn unpin(args: Unpin) -> Exit {
    follow(args.reach, args.balancer, OrderAsk::Unpin {})
}

/// `fence`.
pub fn fence(args: Fence) -> Exit {
    follow(args.reach, args.balancer, OrderAsk::Fence { member: args.member })
}

/// `unfence`.
pub fn unfence(args: Fence) -> Exit {
    follow(args.reach, args.balancer, OrderAsk::Unfence { member: args.member })
}

fn follow(reach: Reach, balancer: String, order: OrderAsk) -> Exit {
    block_on(async {
        let mut client = order_to(&reach, balancer, order.clone()).await?;
        match client.answer().await.map_err(|error| fault(&error))? {
            Say::Done { notes, report } => {
                notes.iter().for_each(|note| say::err(format!("warning: {}", units::plain(note))));
                say::out(done(&order, &report));
                Ok(Exit::Done)
            }
            other => Err(unexpected(&other)),
        }
    })
}

/// What is so now.
fn done(order: &OrderAsk, report: &Report) -> String {
    let name = units::plain;
    let what = match order {
        OrderAsk::Pin { member, for_ms, strict } => {
            let lasts =
                for_ms.map_or_else(|| "until told otherwise".to_owned(), |ms| format!("for {}", units::span(ms)));
            let strict = if *strict { ", strictly" } else { "" };
            format!("pinned to {} {lasts}{strict}", name(member))
        }
        OrderAsk::Unpin {} => "not pinned any more".to_owned(),
        OrderAsk::Fence { member } => {
            let flows = report.members.iter().find(|state| state.member == *member).map_or(0, |state| state.flows);
            format!("{} is fenced, {flows} of its flows still run", name(member))
        }
        OrderAsk::Unfence { member } => format!("{} takes flows again", name(member)),
        OrderAsk::Test { .. } => "tested".to_owned(),
    };
    format!("balancer {}: {what}; {}", name(&report.balancer), table::serving(report))
}

/// `test`.
pub fn test(args: Test) -> Exit {
    block_on(async {
        let (balancer, member) = (args.balancer.clone(), args.member.clone());
        let mut client = order_to(&args.reach, args.balancer, OrderAsk::Test { member: args.member }).await?;
        // Draws on a terminal alone, and on standard error.
        let progress = ProgressBar::new_spinner();
        progress.set_message(format!("testing {}", units::plain(&balancer)));
        progress.enable_steady_tick(Duration::from_millis(100));
        let mut works: BTreeMap<String, bool> = BTreeMap::new();
        let ended = loop {
            match client.answer().await {
                Ok(Say::Tested(tested)) => {
                    *works.entry(tested.member).or_default() |= tested.ok;
                    progress.suspend(|| say::out(units::plain(&tested.text)));
                }
                Ok(Say::Done { report, .. }) => break Ok(report),
                Ok(other) => break Err(unexpected(&other)),
                Err(error) => break Err(fault(&error)),
            }
        };
        progress.finish_and_clear();
        let mut report = ended?;
        report.members.retain(|state| member.as_ref().is_none_or(|member| *member == state.member));
        say::out(table::text(&report, Detail::Table, Colour::of_stdout()));
        Ok(if works.values().all(|works| *works) { Exit::Done } else { Exit::Failed })
    })
}

async fn order_to(reach: &Reach, balancer: String, order: OrderAsk) -> Result<Client, Ended> {
    let path = reach.find().await?;
    Client::ask(&path, Ask::Order { balancer, order }).await.map_err(|error| fault(&error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::balance::MemberReport;

    #[test]
    fn what_was_done_is_said_with_who_serves_now() {
        let member = MemberReport { member: "tokyo".into(), flows: 3, ..MemberReport::default() };
        let report = Report {
            balancer: "proxy".into(),
            members: vec![member],
            serving: vec!["osaka".into()],
            ..Report::default()
        };
        let member = || "tokyo".to_owned();
        let pin = OrderAsk::Pin { member: member(), for_ms: Some(600_000), strict: true };
        let said = done(&pin, &report);
        assert_eq!(said, "balancer proxy: pinned to tokyo for 10 m 0 s, strictly; new flows go to osaka");
        let fence = OrderAsk::Fence { member: member() };
        assert_eq!(
            done(&fence, &report),
            "balancer proxy: tokyo is fenced, 3 of its flows still run; new flows go to osaka"
        );
    }
}
