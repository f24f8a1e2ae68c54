//! Orbits compared with published computations.

use bentpipe_orbit::elements::ElementSets;
use bentpipe_orbit::sgp4::Sgp4;

const SETS: &str = include_str!("../../../tests/authorities/orbits/SGP4-VER.TLE");
const EXPECTED: &str = include_str!("../../../tests/authorities/orbits/tcppver.out");

/// Returns the expected rows (minutes, position, velocity) of each satellite, with its catalogue
/// number, in the order of the sets. Some satellites occur twice.
fn expected() -> Vec<(u64, Vec<[f64; 7]>)> {
    let mut rows: Vec<(u64, Vec<[f64; 7]>)> = Vec::new();
    for line in EXPECTED.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match &words[..] {
            [number, "xx"] => rows.push((number.parse().unwrap(), Vec::new())),
            [..] if words.len() >= 7 => {
                let row: Vec<f64> = words[..7].iter().map(|word| word.parse().unwrap()).collect();
                rows.last_mut().unwrap().1.push(row.try_into().unwrap());
            }
            _ => {}
        }
    }
    rows
}

/// Returns the element sets. Wrong checksums of some lines are corrected.
fn sets() -> ElementSets {
    let mut text: Vec<String> = SETS.lines().map(str::to_owned).collect();
    let mut corrected = Vec::new();
    let sets = loop {
        match ElementSets::parse(&text.join("\n")) {
            Ok(sets) => break sets,
            Err(error) => {
                let line = error.line.unwrap();
                let should = error.message.strip_prefix("the checksum is ").unwrap();
                text[line - 1].replace_range(68..69, &should[should.len() - 1..]);
                corrected.push(line);
            }
        }
    };
    println!("corrected checksums of lines {corrected:?}");
    sets
}

#[test]
fn sgp4_agrees_with_the_verification_set_to_a_millimetre() {
    let (mut rows, mut refused, mut worst) = (0, 0, 0.0_f64);
    let (sets, expected) = (sets(), expected());
    assert_eq!(sets.sets.len(), expected.len());
    for (set, (number, expected)) in sets.sets.iter().zip(expected) {
        assert_eq!(set.catalogue, number);
        let satellite = Sgp4::new(set, set.epoch).unwrap();
        for row in expected {
            let (position, velocity) = match satellite.teme(row[0]) {
                Ok(state) => state,
                Err(_) if number == NO_ORBIT => {
                    refused += 1;
                    continue;
                }
                Err(fault) => panic!("{} at {} min: {fault}", set.name, row[0]),
            };
            for axis in 0..3 {
                let off = (position[axis] - row[1 + axis]).abs();
                assert!(off < 1e-6, "{} at {} min: {off} km", set.name, row[0]);
                let off_speed = (velocity[axis] - row[4 + axis]).abs();
                assert!(off_speed < 1e-8, "{} at {} min: {off_speed} km/s", set.name, row[0]);
                worst = worst.max(off);
            }
            rows += 1;
        }
    }
    println!("{rows} rows, at most {worst:.2e} km off");
    assert_eq!((rows, refused), (ROWS, 1));
}

/// A set that must be rejected, because its perturbed eccentricity is out of range. The file
/// repeats a row of the previous satellite for it.
const NO_ORBIT: u64 = 33_334;
/// Number of rows without this row.
const ROWS: usize = 700 - 33 - 1;

/// Returns a set of the file with some characters replaced.
fn altered(line: usize, column: usize, by: &str) -> String {
    let mut lines = ["ISS".to_owned(), LINES[0].to_owned(), LINES[1].to_owned()];
    lines[line - 1].replace_range(column - 1..column - 1 + by.len(), by);
    lines.join("\n")
}

/// The example in CelesTrak's description of the format.
const LINES: [&str; 2] = [
    "1 25544U 98067A   20194.88612269 -.00002218  00000-0 -31515-4 0  9992",
    "2 25544  51.6461 221.2784 0001413  89.1723 280.4612 15.49507896236008",
];

#[test]
fn errors_in_a_set_name_their_line() {
    let refused = |text: &str| ElementSets::parse(text).unwrap_err().to_string();
    assert!(ElementSets::parse(&altered(1, 1, "I")).is_ok());
    for (text, line, fault) in [
        (altered(2, 20, "1"), 2, "the checksum is 2, but the line's digits add up to 3"),
        (altered(3, 69, "9"), 3, "the checksum is 9, but the line's digits add up to 8"),
        (LINES.map(|line| &line[..60]).join("\n"), 1, "60 characters; allowed: 69"),
        (LINES[0].to_owned(), 1, "the first line of a set is not followed by the second"),
        (LINES[1].to_owned(), 1, "the second line of a set is not preceded by the first"),
        // The sum of the digits does not change.
        (altered(2, 21, "9.5"), 2, "day of the year in columns 21 to 32"),
    ] {
        let message = refused(&text);
        assert!(message.starts_with(&format!("line {line} ")) && message.contains(fault), "{message}");
    }
    assert!(refused(" \n").contains("the text is empty"));
}

#[test]
fn all_formats_yield_the_same_elements() {
    let tle = ElementSets::parse(&LINES.join("\n")).unwrap();
    let fields = [
        ("OBJECT_NAME", "25544"),
        ("NORAD_CAT_ID", "25544"),
        ("EPOCH", "2020-07-12T21:16:01.000416"),
        ("MEAN_MOTION", "15.49507896"),
        ("ECCENTRICITY", "0.0001413"),
        ("INCLINATION", "51.6461"),
        ("RA_OF_ASC_NODE", "221.2784"),
        ("ARG_OF_PERICENTER", "89.1723"),
        ("MEAN_ANOMALY", "280.4612"),
        ("BSTAR", "-0.000031515"),
    ];
    let joined = |each: &dyn Fn(&(&str, &str)) -> String, by: &str| {
        fields.iter().map(each).collect::<Vec<_>>().join(by)
    };
    let json = format!("[{{{}}}]", joined(&|(key, value)| format!("{key:?}: {value:?}"), ", "));
    let csv = format!(
        "{}\n{}\n",
        joined(&|(key, _)| (*key).to_owned(), ","),
        joined(&|(_, v)| (*v).to_owned(), ",")
    );
    let xml = format!(
        "<?xml version=\"1.0\"?><ndm><omm><body>{}</body></omm></ndm>",
        joined(&|(key, value)| format!("<{key}>{value}</{key}>"), "")
    );
    for text in [&json, &csv, &xml] {
        let sets = ElementSets::parse(text).unwrap();
        let (set, same) = (&sets.sets[0], &tle.sets[0]);
        assert!(set.epoch.seconds_since(same.epoch).abs() < 1e-5, "{text}");
        let comparable = |set: &bentpipe_orbit::elements::Elements| bentpipe_orbit::elements::Elements {
            epoch: same.epoch,
            ..set.clone()
        };
        assert_eq!(comparable(set), comparable(same), "{text}");
    }
    let missing = json.replace("BSTAR", "B_STAR");
    assert_eq!(ElementSets::parse(&missing).unwrap_err().to_string(), "message 1: BSTAR is missing");
    let frame = csv.replace("BSTAR\n", "BSTAR,REF_FRAME\n").replace("15\n", "15,ICRF\n");
    assert!(ElementSets::parse(&frame).unwrap_err().to_string().contains("line 2 "), "{frame}");
}
