//! Reading path variables as any type that serde knows.

use serde::de::value::StrDeserializer;
use serde::de::{self, DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;
use std::borrow::Cow;
use std::fmt;

/// Why variables don't become a value.
#[derive(Debug)]
pub(super) enum Failure {
    /// The peer sent something that doesn't fit.
    Value(String),
    /// The handler's type doesn't fit its route.
    Shape(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Value(text) | Self::Shape(text)) = self;
        f.write_str(text)
    }
}

impl std::error::Error for Failure {}

impl de::Error for Failure {
    fn custom<T: fmt::Display>(text: T) -> Self {
        Self::Value(text.to_string())
    }

    fn missing_field(field: &'static str) -> Self {
        Self::Shape(format!("the route has no variable {field:?}"))
    }

    fn unknown_field(field: &str, _: &'static [&'static str]) -> Self {
        Self::Shape(format!(
            "the handler's type has no field for the variable {field:?}"
        ))
    }

    fn invalid_length(length: usize, expected: &dyn de::Expected) -> Self {
        Self::Shape(format!(
            "the route has {length} variables, the handler's type wants {expected}"
        ))
    }
}

/// One variable, decoded.
pub(super) struct Variable<'a> {
    pub(super) name: &'a str,
    pub(super) value: Cow<'a, str>,
}

/// All variables of a route: a sequence, a map, or the only one.
#[derive(Clone, Copy)]
pub(super) struct Variables<'a>(pub(super) &'a [Variable<'a>]);

impl<'a> Variables<'a> {
    fn only(self) -> Result<One<'a>, Failure> {
        match self.0 {
            [one] => Ok(One(one)),
            all => Err(Failure::Shape(format!(
                "the route has {} variables, the handler's type wants one",
                all.len()
            ))),
        }
    }

    fn sequence<'de, V: Visitor<'de>>(self, visitor: V, wanted: Option<usize>) -> Result<V::Value, Failure> {
        let count = self.0.len();
        match wanted {
            Some(wanted) if wanted != count => Err(Failure::Shape(format!(
                "the route has {count} variables, the handler's type wants {wanted}"
            ))),
            _ => visitor.visit_seq(Rest(self.0)),
        }
    }
}

/// Hands each call on to the only variable.
macro_rules! to_the_only_one {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
            self.only()?.$method(visitor)
        }
    )*};
}

impl<'de> Deserializer<'de> for Variables<'_> {
    type Error = Failure;

    to_the_only_one! {
        deserialize_any deserialize_bool deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64
        deserialize_i128 deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128
        deserialize_f32 deserialize_f64 deserialize_char deserialize_str deserialize_string deserialize_bytes
        deserialize_byte_buf deserialize_option deserialize_identifier
    }

    fn is_human_readable(&self) -> bool {
        true
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Failure> {
        self.only()?.deserialize_enum(name, variants, visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Failure> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        visitor.visit_unit()
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Failure> {
        visitor.visit_unit()
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        visitor.visit_unit()
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.sequence(visitor, None)
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, Failure> {
        self.sequence(visitor, Some(len))
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, Failure> {
        self.sequence(visitor, Some(len))
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        visitor.visit_map(Rest(self.0))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Failure> {
        visitor.visit_map(Rest(self.0))
    }
}

/// The variables that are not yet read.
struct Rest<'a>(&'a [Variable<'a>]);

impl<'a> Rest<'a> {
    fn take(&mut self) -> Option<&'a Variable<'a>> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(first)
    }
}

impl<'de> SeqAccess<'de> for Rest<'_> {
    type Error = Failure;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Failure> {
        self.take().map(|one| seed.deserialize(One(one))).transpose()
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.0.len())
    }
}

impl<'de> MapAccess<'de> for Rest<'_> {
    type Error = Failure;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Failure> {
        let name = self.0.first().map(|one| one.name);
        name.map(|name| {
            let name: StrDeserializer<'_, Failure> = name.into_deserializer();
            seed.deserialize(name)
        })
        .transpose()
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Failure> {
        match self.take() {
            Some(one) => seed.deserialize(One(one)),
            None => Err(Failure::Shape("a value was asked for before its key".into())),
        }
    }
}

/// One variable: text, or what can be parsed from it.
struct One<'a>(&'a Variable<'a>);

impl One<'_> {
    fn parse<T: std::str::FromStr>(&self, expected: &str) -> Result<T, Failure> {
        self.0.value.parse().map_err(|_| self.refuse(expected))
    }

    fn refuse(&self, expected: &str) -> Failure {
        Failure::Value(format!("{:?} in the path must be {expected}", self.0.name))
    }

    /// A variable is flat: it can't hold a list or fields of its own.
    fn no_shape(&self) -> Failure {
        Failure::Shape(format!(
            "the variable {:?} is one value, not a list or struct",
            self.0.name
        ))
    }

    /// Adds the variable's name to what a type of its own (an address, a date) says about the text.
    fn name_it(&self, failure: Failure) -> Failure {
        match failure {
            Failure::Value(text) => Failure::Value(format!("{:?} in the path: {text}", self.0.name)),
            shape => shape,
        }
    }
}

/// Parses the text, then visits the number.
macro_rules! parsed {
    ($($method:ident $visit:ident $expected:literal)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
            let value = self.parse($expected)?;
            visitor.$visit(value).map_err(|failure| self.name_it(failure))
        }
    )*};
}

impl<'de> Deserializer<'de> for One<'_> {
    type Error = Failure;

    parsed! {
        deserialize_bool visit_bool "true or false"
        deserialize_i8 visit_i8 "a whole number, -128 to 127"
        deserialize_i16 visit_i16 "a whole number, -32768 to 32767"
        deserialize_i32 visit_i32 "a whole number of 32 bits"
        deserialize_i64 visit_i64 "a whole number of 64 bits"
        deserialize_i128 visit_i128 "a whole number of 128 bits"
        deserialize_u8 visit_u8 "a whole number, 0 to 255"
        deserialize_u16 visit_u16 "a whole number, 0 to 65535"
        deserialize_u32 visit_u32 "a whole number of 32 bits, not negative"
        deserialize_u64 visit_u64 "a whole number of 64 bits, not negative"
        deserialize_u128 visit_u128 "a whole number of 128 bits, not negative"
        deserialize_f32 visit_f32 "a number"
        deserialize_f64 visit_f64 "a number"
        deserialize_char visit_char "one character"
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        visitor
            .visit_str(&self.0.value)
            .map_err(|failure| self.name_it(failure))
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        visitor
            .visit_bytes(self.0.value.as_bytes())
            .map_err(|failure| self.name_it(failure))
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.deserialize_bytes(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Failure> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Failure> {
        if !variants.contains(&&*self.0.value) {
            return Err(self.refuse(&format!("one of: {}", variants.join(", "))));
        }
        let value: StrDeserializer<'_, Failure> = (&*self.0.value).into_deserializer();
        visitor.visit_enum(value)
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        visitor.visit_unit()
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Failure> {
        visitor.visit_unit()
    }

    fn deserialize_seq<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Failure> {
        Err(self.no_shape())
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, _: V) -> Result<V::Value, Failure> {
        Err(self.no_shape())
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        _: V,
    ) -> Result<V::Value, Failure> {
        Err(self.no_shape())
    }

    fn deserialize_map<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Failure> {
        Err(self.no_shape())
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Failure> {
        Err(self.no_shape())
    }

    forward_to_deserialize_any! { str string identifier ignored_any }
}
