//! HTTP handlers: plain functions and closures whose arguments are [extractors](crate::server::extract).

use crate::http::response::Response;
use crate::server::answer::IntoResponse;
use crate::server::extract::{BuildContext, FromRequest};
use crate::server::request::Request;

/// A function or closure that answers requests.
///
/// It is implemented for `Fn(E1, .., En) -> R` with up to eight arguments, each of which implements [`FromRequest`],
/// and for `Fn(&mut Request) -> R`; `R` implements [`IntoResponse`]. Extractors run in the order of the arguments;
/// the first that refuses answers the request. `Args` is only there to tell these forms apart.
///
/// ```no_run
/// use greenroom::{App, Path, Request};
///
/// fn hello(Path(name): Path<String>) -> String {
///     format!("Hello, {name}!")
/// }
///
/// let app = App::new()
///     .get("/hello/{name}", hello)
///     .get("/agent", |request: &mut Request| request.header("user-agent").map(str::to_owned));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an HTTP handler",
    note = "a handler is a `Fn` of up to 8 extractors (with the types of a closure's arguments written out), \
            `Send + Sync + 'static`, that returns something that implements `IntoResponse`"
)]
pub trait Handler<Args>: Send + Sync + 'static {
    /// Runs extractors and handler.
    fn handle(&self, request: &mut Request) -> Response;

    /// Appends what the extractors miss in this app.
    #[doc(hidden)]
    fn check(context: &BuildContext<'_>, problems: &mut Vec<String>);
}

/// Marks handlers that take the request as it is.
#[doc(hidden)]
pub struct WholeRequest(());

impl<F, R> Handler<WholeRequest> for F
where
    F: Fn(&mut Request) -> R + Send + Sync + 'static,
    R: IntoResponse,
{
    fn handle(&self, request: &mut Request) -> Response {
        self(request).into_response()
    }

    fn check(_: &BuildContext<'_>, _: &mut Vec<String>) {}
}

/// Calls a macro with 0 to 8 names of extractor types.
macro_rules! for_each_arity {
    ($each:ident) => {
        $each!();
        $each!(A);
        $each!(A B);
        $each!(A B C);
        $each!(A B C D);
        $each!(A B C D E);
        $each!(A B C D E G);
        $each!(A B C D E G H);
        $each!(A B C D E G H I);
    };
}
pub(crate) use for_each_arity;

macro_rules! handler_of {
    ($($arg:ident)*) => {
        #[allow(non_snake_case, unused_variables, reason = "one text for every number of arguments")]
        impl<F, R, $($arg,)*> Handler<($($arg,)*)> for F
        where
            F: Fn($($arg,)*) -> R + Send + Sync + 'static,
            R: IntoResponse,
            $($arg: FromRequest,)*
        {
            fn handle(&self, request: &mut Request) -> Response {
                $(let $arg = match $arg::from_request(request) {
                    Ok(value) => value,
                    Err(rejection) => return rejection.into_response(),
                };)*
                self($($arg,)*).into_response()
            }

            fn check(context: &BuildContext<'_>, problems: &mut Vec<String>) {
                $(problems.extend($arg::check(context).err());)*
            }
        }
    };
}
for_each_arity!(handler_of);
