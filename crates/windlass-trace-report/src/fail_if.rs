//! Conditions on a run, for pipelines: `--fail-if 'share>10%'`.

use std::fmt;
use std::str::FromStr;

use super::report::Summary;

/// The syntax of a condition, for errors.
const GRAMMAR: &str = "write METRIC OP VALUE, as 'loads>10', 'bytes>8MiB', 'ms>=50' or 'share>10%': METRIC is loads, \
                       bytes, ms or share, \
     OP is >, >=, < or <=";

/// One condition: the run fails if it holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    metric: Metric,
    operator: Operator,
    /// The limit, in the unit of the metric.
    value: f64,
    /// The condition, as the user gave it.
    text: String,
}

/// The number that a condition limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Metric {
    /// Loads of CA certificates.
    Loads,
    /// Peak of the bytes held by loaded stores.
    Bytes,
    /// Wall time of all loads.
    Ms,
    /// Part of all CPU time, in percent.
    Share,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Less,
    LessOrEqual,
    More,
    MoreOrEqual,
}

/// A condition that fails the run.
#[derive(Debug)]
pub struct Broken<'a> {
    condition: &'a Condition,
    /// The measured value. None: unknown.
    found: Option<f64>,
}

impl Condition {
    /// The result if the condition fails the run. An unknown value fails it too: a pipeline that sees nothing proves
    /// nothing.
    pub fn broken_by(&self, summary: &Summary) -> Option<Broken<'_>> {
        let found = match self.metric {
            Metric::Loads => summary.loads.map(|loads| loads as f64),
            // Nothing was loaded: no memory was held, and no time was spent.
            _ if summary.loads == Some(0) => Some(0.0),
            Metric::Bytes => summary.memory_peak.map(|bytes| bytes as f64),
            Metric::Ms => summary.wall.map(|nanoseconds| nanoseconds as f64 / 1e6),
            Metric::Share => summary.cpu_share.map(|share| share * 100.0),
        };
        let holds = found.is_none_or(|found| match self.operator {
            Operator::Less => found < self.value,
            Operator::LessOrEqual => found <= self.value,
            Operator::More => found > self.value,
            Operator::MoreOrEqual => found >= self.value,
        });
        holds.then_some(Broken { condition: self, found })
    }
}

impl FromStr for Condition {
    type Err = String;

    fn from_str(text: &str) -> Result<Condition, String> {
        let refuse = |what: String| format!("{what}; {GRAMMAR}");
        let start = text.find(['<', '>', '=', '!']);
        let Some((name, rest)) = start.and_then(|start| text.split_at_checked(start)) else {
            return Err(refuse(String::from("it has no comparison (the shell takes an unquoted >)")));
        };
        let metric = match name.trim() {
            "loads" => Metric::Loads,
            "bytes" => Metric::Bytes,
            "ms" => Metric::Ms,
            "share" => Metric::Share,
            "" => return Err(refuse(String::from("no metric precedes the comparison"))),
            other => return Err(refuse(format!("there is no metric {other:?}"))),
        };
        let operators = [
            (">=", Operator::MoreOrEqual),
            ("<=", Operator::LessOrEqual),
            (">", Operator::More),
            ("<", Operator::Less),
        ];
        let known = operators.into_iter().find_map(|(sign, operator)| Some((rest.strip_prefix(sign)?, operator)));
        let Some((value, operator)) = known else {
            return Err(refuse(String::from("= and != are not limits")));
        };
        let value = metric.value(value.trim()).map_err(refuse)?;
        Ok(Condition { metric, operator, value, text: text.to_owned() })
    }
}

impl Metric {
    fn value(self, text: &str) -> Result<f64, String> {
        if text.is_empty() {
            return Err(String::from("no value follows the comparison"));
        }
        let number =
            text.trim_end_matches(|character: char| character.is_ascii_alphabetic() || character == '%').trim_end();
        let unit = text.strip_prefix(number).unwrap_or_default().trim();
        let factor = match (self, unit) {
            (Metric::Loads, "") | (Metric::Bytes, "" | "B") | (Metric::Ms, "" | "ms") | (Metric::Share, "%") => 1.0,
            (Metric::Bytes, "KiB") => 1024.0,
            (Metric::Bytes, "MiB") => 1024.0 * 1024.0,
            (Metric::Bytes, "GiB") => 1024.0 * 1024.0 * 1024.0,
            (Metric::Share, "") => return Err(format!("a share is in percent: {text}%")),
            (_, unit) => return Err(format!("{unit:?} is not a unit of {}", self.name())),
        };
        // No sign, no exponent, no "inf".
        let is_plain = number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        let value: Option<f64> = number.parse().ok().filter(|_| is_plain);
        let value = value.ok_or_else(|| format!("{number:?} is not a number"))? * factor;
        match self {
            Metric::Share if value > 100.0 => Err(String::from("a share is 100% at most")),
            _ => Ok(value),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Metric::Loads => "loads",
            Metric::Bytes => "bytes",
            Metric::Ms => "ms",
            Metric::Share => "share",
        }
    }
}

impl fmt::Display for Broken<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.condition.metric.name();
        match (self.found, self.condition.metric) {
            (None, _) => write!(f, "{name} is not known in this run, see the report")?,
            (Some(found), Metric::Share) => write!(f, "{name} is {found:.2}%")?,
            (Some(found), Metric::Ms) => write!(f, "{name} is {found:.3}")?,
            (Some(found), _) => write!(f, "{name} is {found:.0}")?,
        }
        Ok(())
    }
}

impl Broken<'_> {
    /// The condition, as the user gave it.
    pub fn condition(&self) -> &str {
        &self.condition.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_read() {
        let of = |text: &str| text.parse::<Condition>().map(|read| (read.metric, read.operator, read.value));
        assert_eq!(of("share>10%"), Ok((Metric::Share, Operator::More, 10.0)));
        assert_eq!(of(" loads >= 3 "), Ok((Metric::Loads, Operator::MoreOrEqual, 3.0)));
        assert_eq!(of("bytes<=1.5MiB"), Ok((Metric::Bytes, Operator::LessOrEqual, 1_572_864.0)));
        assert_eq!(of("ms<0.5"), Ok((Metric::Ms, Operator::Less, 0.5)));
    }

    #[test]
    fn errors_teach() {
        for (text, why) in [
            ("share", "it has no comparison"),
            (">3", "no metric precedes the comparison"),
            ("time>3", "there is no metric \"time\""),
            ("loads=3", "= and != are not limits"),
            ("loads!=3", "= and != are not limits"),
            ("loads>", "no value follows the comparison"),
            ("loads>x", "\"x\" is not a unit of loads"),
            ("loads>-1", "\"-1\" is not a number"),
            ("loads>1e3", "\"1e3\" is not a number"),
            ("loads>inf", "is not a unit of loads"),
            ("loads>>3", "\">3\" is not a number"),
            ("share>10", "a share is in percent: 10%"),
            ("share>101%", "100% at most"),
            ("ms>3s", "\"s\" is not a unit of ms"),
            ("bytes>3MB", "\"MB\" is not a unit of bytes"),
        ] {
            let error = text.parse::<Condition>().unwrap_err();
            assert!(error.contains(why) && error.contains("write METRIC OP VALUE"), "{text}: {error}");
        }
    }
}
