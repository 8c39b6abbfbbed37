//! Times in certificates, as seconds since 1970.

use std::fmt;

use crate::error::DerFault;

/// A time from a certificate: seconds since 1970-01-01 00:00:00 UTC, negative before.
///
/// Displays as `2031-05-25 00:39:29Z`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// Seconds since 1970.
    pub fn seconds(self) -> i64 {
        self.0
    }

    /// `UTCTime` in the one form that RFC 5280 (4.1.2.5.1) allows: `YYMMDDHHMMSSZ`.
    pub fn from_utc_time(text: &[u8]) -> Result<Timestamp, DerFault> {
        let (year, rest) = text.split_at_checked(2).ok_or(DerFault::Time)?;
        let year = number(year)?;
        Timestamp::from_parts(if year < 50 { 2000 + year } else { 1900 + year }, rest)
    }

    /// `GeneralizedTime` in the one form that RFC 5280 (4.1.2.5.2) allows: `YYYYMMDDHHMMSSZ`.
    pub fn from_generalized_time(text: &[u8]) -> Result<Timestamp, DerFault> {
        let (year, rest) = text.split_at_checked(4).ok_or(DerFault::Time)?;
        Timestamp::from_parts(number(year)?, rest)
    }

    fn from_parts(year: u32, rest: &[u8]) -> Result<Timestamp, DerFault> {
        let &[m0, m1, d0, d1, h0, h1, i0, i1, s0, s1, b'Z'] = rest else {
            return Err(DerFault::Time);
        };
        let month = number(&[m0, m1])?;
        let day = number(&[d0, d1])?;
        let (hour, minute, second) = (number(&[h0, h1])?, number(&[i0, i1])?, number(&[s0, s1])?);
        if !(1..=12).contains(&month)
            || !(1..=days_in_month(year, month)).contains(&day)
            || hour > 23
            || minute > 59
            || second > 59
        {
            return Err(DerFault::Time);
        }
        let days = days_from_civil(i64::from(year), i64::from(month), i64::from(day));
        Ok(Timestamp(days * 86_400 + i64::from(hour * 3600 + minute * 60 + second)))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = civil_from_days(self.0.div_euclid(86_400));
        let second = self.0.rem_euclid(86_400);
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        write!(f, "{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}Z")
    }
}

fn number(digits: &[u8]) -> Result<u32, DerFault> {
    digits.iter().try_fold(
        0,
        |n, d| {
            if d.is_ascii_digit() { Ok(n * 10 + u32::from(d - b'0')) } else { Err(DerFault::Time) }
        },
    )
}

fn days_in_month(year: u32, month: u32) -> u32 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => 29,
        2 => 28,
        _ => 31,
    }
}

/// Days since 1970-01-01 in the proleptic Gregorian calendar. Years are counted from March, which makes the leap day
/// the last day of its year, in eras of 400 years.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day_of_year - (153 * shifted + 2) / 5 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_of_four_centuries_goes_there_and_back() {
        let mut expected = days_from_civil(1899, 1, 1);
        for year in 1899..2302 {
            for month in 1..=12 {
                for day in 1..=days_in_month(year, month) {
                    let text = format!("{year:04}{month:02}{day:02}123456Z");
                    let time = Timestamp::from_generalized_time(text.as_bytes()).unwrap();
                    assert_eq!(time.0, expected * 86_400 + 45_296);
                    assert_eq!(time.to_string(), format!("{year:04}-{month:02}-{day:02} 12:34:56Z"));
                    expected += 1;
                }
            }
        }
    }

    #[test]
    fn known_times() {
        assert_eq!(Timestamp::from_utc_time(b"700101000000Z"), Ok(Timestamp(0)));
        assert_eq!(Timestamp::from_utc_time(b"491231235959Z"), Ok(Timestamp(2_524_607_999)));
        assert_eq!(Timestamp::from_utc_time(b"500101000000Z"), Ok(Timestamp(-631_152_000)));
        assert_eq!(Timestamp::from_generalized_time(b"20000229000000Z"), Ok(Timestamp(951_782_400)));
    }

    #[test]
    fn other_forms_are_refused() {
        for text in [
            &b""[..],
            b"7",
            b"700101000000",
            b"7001010000Z",
            b"700101000000+0000",
            b"700101000000Z ",
            b"701301000000Z",
            b"700001000000Z",
            b"700100000000Z",
            b"700132000000Z",
            b"010229000000Z",
            b"700101240000Z",
            b"700101006000Z",
            b"700101000060Z",
            b"7001010000 0Z",
            b"-70101000000Z",
        ] {
            assert_eq!(Timestamp::from_utc_time(text), Err(DerFault::Time), "{text:?}");
        }
        assert_eq!(Timestamp::from_generalized_time(b"20010229000000Z"), Err(DerFault::Time));
        assert_eq!(Timestamp::from_generalized_time(b"20010228000000.5Z"), Err(DerFault::Time));
    }
}
