use super::{Field, Row, Streams};
use crate::ieee802154::{Channel, Rules};
use crate::measure::Value;
use crate::plan::{place, Network, Placement};
use crate::query::parse;
use crate::world;
use bentpipe_core::{Span, Stream, Time};
use proptest::prelude::*;

fn network(parents: &[usize]) -> Network {
    Network {
        motes: (1..=parents.len()).map(|number| format!("m{number}")).collect(),
        parents: parents.to_vec(),
        period: Span::from_millis(500),
        wait: Span::from_secs(1),
    }
}

fn streams(seed: u64, motes: usize) -> Streams {
    let stream = |name: String| bentpipe_core::Streams::new(seed, 0).stream(&name);
    let mut all = (0..motes).map(|mote| stream(format!("mote {mote}")));
    Streams { motes: all.by_ref().collect(), medium: stream("medium".to_owned()) }
}

/// Rules that allow so many attempts that frames are practically never dropped.
const PATIENT: Rules =
    Rules { retries: 50, backoffs: 50, min_be: 3, max_be: 5, acknowledged: true, queue: 1000 };

fn field(text: &str, parents: &[usize], placement: Placement, seed: u64, rules: Rules) -> Field {
    let network = network(parents);
    let plan = place(&parse(text, &network.motes).unwrap(), &network, placement);
    assert_eq!(plan.check(), Ok(()));
    let count = parents.len() + 1;
    let hears = vec![vec![true; count]; count];
    Field::new(network, plan, rules, hears, Time::ZERO, streams(seed, parents.len()))
}

/// Runs a field that samples until `until`, and continues until it has no more events. Returns all
/// rows.
fn run(field: &mut Field, until: Time, channel: &mut dyn Channel) -> Vec<Row> {
    let mut rows = Vec::new();
    field.wake(until, channel, &mut rows);
    field.end();
    field.wake(Time::MAX, channel, &mut rows);
    assert_eq!((field.next_wake(), field.in_network()), (None, 0));
    rows
}

/// Formats rows and sorts them, to compare plans that deliver rows in different orders.
fn sorted(rows: &[Row]) -> Vec<String> {
    let written = |value: &Value| match value {
        // The order of merging changes the last digits of sums.
        Value::Number(number) => format!("{number:.6e}"),
        other => other.to_string(),
    };
    let mut rows: Vec<String> =
        rows.iter().map(|row| row.values.iter().map(written).collect::<Vec<_>>().join(" ")).collect();
    rows.sort();
    rows
}

const QUERIES: [&str; 9] = [
    "SELECT * FROM motes",
    "SELECT node, temperature + 273.15 AS kelvin FROM motes WHERE audio > 40",
    "SELECT light FROM m1 WHERE NOT (magnetism < 0.2 OR audio > 36)",
    "SELECT avg(temperature), count(*) FROM motes WHERE light > 20000 GROUP BY TUMBLE(time, 5)",
    "SELECT node, window_start, max(audio) - min(audio) FROM motes GROUP BY node, HOP(time, 2, 6)",
    "SELECT sum(light), stddev(audio) FROM motes GROUP BY HOP(time, 3, 4) HAVING count(*) > 3",
    "SELECT a.node, a.light - b.light FROM motes a JOIN m1 b ON a.time = b.time WHERE a.node <> 'm1'",
    "SELECT a.time, b.time FROM m1 a JOIN m2 b ON abs(a.time - b.time) <= 0.5 WHERE b.audio < a.audio AND a.light > 0",
    "SELECT b.node, avg(a.audio - b.audio) FROM motes a, motes b WHERE a.time = b.time AND a.audio > b.audio \
     GROUP BY b.node, TUMBLE(a.time, 5)",
];

/// Over a channel without losses and overload, the results of a query do not depend on the
/// placement of operators and on the tree.
#[test]
fn placed_and_shipped_plans_have_the_same_results() {
    for parents in [&[3, 3, 3][..], &[3, 0, 1], &[1, 3, 1], &[4, 0, 0, 4]] {
        for text in QUERIES {
            let until = Time::ZERO + Span::from_secs(30);
            let rows = [Placement::Nodes, Placement::Sink].map(|placement| {
                let mut field = field(text, parents, placement, 5, PATIENT);
                let rows = run(&mut field, until, &mut ());
                let totals = *field.totals();
                assert_eq!(
                    (totals.messages, totals.late),
                    (totals.arrived, 0),
                    "{text} {parents:?} {placement:?}"
                );
                sorted(&rows)
            });
            assert!(!rows[0].is_empty(), "{text}");
            assert_eq!(rows[0], rows[1], "{text} {parents:?}");
        }
    }
}

/// The expected results are computed from the samples, which the random streams of the motes
/// determine.
#[test]
fn averages_match_the_samples() {
    let text = "SELECT window_start, avg(temperature), count(*) FROM motes WHERE audio < 40 GROUP BY TUMBLE(time, 5)";
    let mut ours = field(text, &[2, 2], Placement::Nodes, 9, PATIENT);
    let rows = run(&mut ours, Time::ZERO + Span::from_millis(19_900), &mut ());
    let mut streams = streams(9, 2);
    let mut sums = [(0.0, 0.0); 4];
    for sample in 0..40_u64 {
        for mote in 0..2 {
            let time = Time::ZERO + Span::from_millis(500 * sample);
            let measure = world::sample(mote as u16, time, &mut streams.motes[mote]);
            if measure.values[4] < 40.0 {
                let (sum, count) = &mut sums[sample as usize / 10];
                *sum += f64::from(measure.values[1]);
                *count += 1.0;
            }
        }
    }
    assert_eq!(rows.len(), 4);
    for (window, (row, (sum, count))) in rows.iter().zip(sums).enumerate() {
        let Value::Number(mean) = row.values[1] else { panic!("{row:?}") };
        assert!((mean - sum / count).abs() < 1e-6, "{mean} {sum} {count}");
        assert_eq!(
            (&row.values[0], &row.values[2]),
            (&Value::Number(5.0 * window as f64), &Value::Number(count))
        );
        // The motes are one hop from the sink, so a window is closed one second after its end.
        assert_eq!(row.delivered, Time::ZERO + Span::from_secs(5 * (window as u64 + 1) + 1));
    }
}

struct Lossy(Stream, f64);

impl Channel for Lossy {
    fn corrupts(&mut self, _: Time, _: usize, _: usize, _: u32) -> bool {
        self.0.chance(self.1)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// For any tree, loss and query, messages are conserved. Every row also appears in a run
    /// without losses, for queries with rows that do not depend on lost measures.
    #[test]
    fn messages_are_conserved(
        seed in 0_u64..1000,
        loss in 0.0_f64..0.9,
        query in 0_usize..QUERIES.len(),
        shape in proptest::collection::vec(0_usize..100, 2..6),
        shipped: bool,
        until in 1_u64..20_000,
    ) {
        // The parent of each mote is the sink or a mote with a higher index, so there is no cycle.
        let count = shape.len();
        let parents: Vec<usize> =
            shape.iter().enumerate().map(|(mote, draw)| mote + 1 + draw % (count - mote)).collect();
        let placement = if shipped { Placement::Sink } else { Placement::Nodes };
        let text = QUERIES[query];
        let mut ours = field(text, &parents, placement, seed, Rules::default());
        let mut channel = Lossy(bentpipe_core::Streams::new(seed, 2).stream("loss"), loss);
        let mut rows = Vec::new();
        ours.wake(Time::ZERO + Span::from_millis(until), &mut channel, &mut rows);
        for _ in 0..2 {
            let totals = ours.totals();
            let lost = totals.channel_access + totals.no_acknowledgment + totals.queue_full;
            prop_assert_eq!(totals.messages, totals.arrived + lost + ours.in_network(), "{:?}", totals);
            prop_assert_eq!(totals.rows, rows.len() as u64);
            ours.end();
            ours.wake(Time::MAX, &mut channel, &mut rows);
        }
        prop_assert_eq!(ours.in_network(), 0);
        if query < 3 {
            let mut perfect = field(text, &parents, placement, seed, PATIENT);
            let mut all = sorted(&run(&mut perfect, Time::ZERO + Span::from_millis(until), &mut ()));
            for row in sorted(&rows) {
                let found = all.binary_search(&row);
                prop_assert!(found.is_ok(), "{row} is not a row of the run without loss");
                all.remove(found.unwrap());
            }
        }
    }
}
